#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A node or an R that waited is to a program what a fresh one is, and no two are alike.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"

WHAT='d["status"], d["exit_code"], d["signal"], d["stdout"]["text"],
__import__("re").sub(r"\n    at (.*node:|\[eval\](-wrapper)?:[1-9]\d).*", "", d["stderr"]["text"])'

# alike NAME LANG ARG...: the same status and output as without the daemon. A trace of node differs in
# lines that are not the program's.
alike()
{
	local name=$1 cold

	shift
	inside_json --no-daemon "${BEST[@]}" --lang "$@"
	cold="$RC $(json "$WHAT")"
	waited "$@"
	json_is interpreter 'd["start"]' "$name: it waited"
	check "$name: the same as a fresh one" test "$RC $(json "$WHAT")" = "$cold"
}

of_node()
{
	cat >"$W/program.js" <<-'END'
		console.log(process.argv, process.execArgv, __filename, __dirname, require.main === module,
			module.paths, Object.getOwnPropertyNames(globalThis).sort().join(), typeof fs);
		function fail() { throw new Error('x'); }
		fail();
	END
	echo 'import os from "node:os"; console.log(import.meta.url, os.EOL, await 1, process.argv)' >"$W/module.mjs"
	own "$W/program.js" "$W/module.mjs"
	alike "a file, with arguments and a trace" node "$W/program.js" a 'b c'
	alike "a module" node "$W/module.mjs" a --b
	alike "an error" node -c 'null.x'
	alike "code, its names and streams" node -c '
console.log(process.argv, process.execArgv, process._eval.length, process.cwd(), process.env, process.ppid);
console.log(Object.getOwnPropertyNames(globalThis).sort().join(), module.id, module.filename, module.paths, __filename);
console.log(fs.readdirSync("/proc/self/fd").length, fs.openSync("/dev/null"), process.stdout.isTTY, process.stdin.isTTY);
console.log(process.umask(), process.title, require.main, Object.keys(require.cache), process.listenerCount("exit"));
console.log(require("async_hooks").executionAsyncId(), RegExp.$1, RegExp.lastMatch, this === globalThis);
process.stdin.on("data", (d) => console.error(String(d))).on("end", () => process.exitCode = 3)' x y
	alike "signals and limits" node -c '
console.log(fs.readFileSync("/proc/self/status", "utf8").match(/^(Sig(Blk|Ign|Cgt)|Cap.*|Seccomp|NoNewPrivs):.*/mg),
fs.readFileSync("/proc/self/limits", "utf8"), fs.readFileSync("/proc/self/maps", "utf8").includes("loader"))'
	[ "$MODE" = R ] || return # the rest is node, whoever runs it
	alike "a variable and a directory" node --env KEY=value --workdir /tmp -c \
		'console.log(process.env.KEY, process.cwd(), module.paths, module.filename)'
	alike "a rejection" node -c 'Promise.reject(new Error("r"))'
	alike "a syntax error" node -c 'let x = ;'
	alike "an exit and its handler" node -c 'process.on("exit", (c) => console.log("exit", c)); process.exit(7)'
	alike "a signal" node -c 'process.kill(process.pid, 9)'
	alike "order" node -c '
setTimeout(() => console.log("timeout"), 5); process.nextTick(() => console.log("tick"));
Promise.resolve().then(() => console.log("promise")); console.log("now")'
	alike "a worker, a child" node -c '
const w = new (require("worker_threads").Worker)("console.log(process.argv)", {eval: true});
w.on("exit", () => { console.log(child_process.execFileSync(process.execPath, ["-p", "6*7"]).toString()); });'
	alike "no text" node -c ''
}

of_r()
{
	cat >"$W/program.R" <<-'END'
		print(commandArgs()); print(ls(all.names = TRUE)); print(search()); print(getwd())
		f <- function() stop("x")
		f()
	END
	own "$W/program.R"
	alike "R: a file, with arguments and an error" r "$W/program.R" a 'b c'
	alike "R: code and streams" r -c '
print(commandArgs(TRUE)); x <- readLines(file("stdin")); x; interactive(); names(getLoadedDLLs())
list.files("/run"); list.files("/proc/self/fd"); exists(".Random.seed"); nchar(tempdir()); sort(names(Sys.getenv()))
write("e", stderr()); quit(status = 3)' x y
	alike "R: a variable and a directory" r --env KEY=value --workdir /tmp -c 'cat(Sys.getenv("KEY"), getwd())'
	alike "R: a syntax error" r -c 'x <- )'
	alike "R: a warning" r -c 'as.integer("a")'
}

# siblings LANG CODE: no two print the same.
siblings()
{
	local i

	: >"$W/seen"
	for ((i = 0; i < 4; i++)); do
		waited "$@"
		json 'd["stdout"]["text"].replace("\n", " ") + "\n"' >>"$W/seen"
	done
	check "$1: no two alike" /usr/bin/python3 -I -c '
import sys
rows = [l.split() for l in open(sys.argv[1]) if l.strip()]
assert len(rows) == 4 and len(rows[0]) > 1, rows
for column in zip(*rows):
    assert len(set(column)) == 4, column' "$W/seen"
}

other_ways()
{
	wait_for 10 waiting_beyond $((WARM - 1))
	inside_json --daemon "${BEST[@]}" --env NODE_OPTIONS=--no-warnings --lang node -c 'console.log(process.env.NODE_OPTIONS)'
	json_is warm 'd["start"]' "a variable that shapes the start gets another"
	wait_for 10 waiting_beyond $((WARM - 1))
	inside_json --daemon "${BEST[@]}" --lang node -c 'console.log(process.argv[2])' -- --version
	json_is 'interpreter --version' '"%s %s" % (d["start"], d["stdout"]["text"].strip())' \
		"an option behind the text is the program's"
	wait_for 10 waiting_beyond $((WARM - 1))
	inside_json --daemon "${BEST[@]}" --lang node -c 'import fs from "fs"; console.log(await 6 * 7)'
	json_is 'warm 42' '"%s %s" % (d["start"], d["stdout"]["text"].strip())' "and so does a module"
	wait_for 10 waiting_beyond $((WARM - 1))
	inside_json --daemon "${BEST[@]}" --lang r -c ''
	json_is 'warm 0' '"%s %s" % (d["start"], d["exit_code"])' "no text of R is a file without any"
	wait_for 10 waiting_beyond $((WARM - 1))
	inside_json --daemon "${BEST[@]}" --workdir /nowhere --lang node -c 'console.log(1)'
	exits 125 "a directory that is not there is said as ever"
}

checks()
{
	local r=0

	daemon_mode
	[ -x /usr/bin/node ] || { skip "a node that waits" "no node here"; return; }
	[ -x /usr/bin/Rscript ] && r=1
	WARM=$((2 + r))
	daemon_start --warm 1 --warm-python 0 --warm-node 1 --warm-r $r
	check "they wait" wait_for 20 waiting_is $WARM
	of_node
	siblings node -c 'console.log(Math.random(), crypto.randomUUID(), require("crypto").randomBytes(8).toString("hex"),
os.hostname(), fs.readFileSync("/proc/self/maps", "utf8").match(/.*libc.so/)[0].split("-")[0])'
	[ $r = 0 ] || of_r
	[ $r = 0 ] || siblings r -c 'cat(runif(1), tempdir(), tempfile(), Sys.info()[["nodename"]])'
	other_ways
	daemon_stop
	exits 0 "it ends"
	check "nothing is left" nothing_left
}

run_checks
