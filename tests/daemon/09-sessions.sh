#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Sessions: interpreters that stay in a sandbox that lives. tests/lib/talk.c speaks for us.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"

# Beside the binary under test, where the ordinary user can execute it.
build()
{
	local binary=${PINFOLD:-$PROJECT_DIR/build/pinfold} dir san=()

	[ "${binary#/}" != "$binary" ] || binary=$PROJECT_DIR/$binary
	dir=$(dirname "$binary")
	case ${dir##*/} in
	san-*)
		san=${dir##*/san-}
		san=("-fsanitize=${san//-/,}")
		;;
	esac
	TALK=$T/talk
	[ -x "$TALK" ] || cc -std=gnu17 -O1 -Wall -I"$PROJECT_DIR/include" -o "$TALK" "$LIB_DIR/talk.c" \
		"$dir/libpinfold.a" "${san[@]}" -lcrypto -lsqlite3 -lzstd -ljansson -lyaml -lm -pthread
}

# live [OPTION...]: sets ID.
live()
{
	pinfold run --detach --time 10m "${BEST[@]}" "$@"
	ID=$(cat "$OUT")
}

# talk <COMMANDS: sets OUT.
talk()
{
	call_files talk "$ID"
	call_argv
	"${CALL[@]:0:${#CALL[@]}-1}" "$TALK" "$ID" >"$OUT" 2>"$ERR" {LIVE_FD}>&-
	RC=$?
}

# tells REGEX NAME: a line of what came.
tells()
{
	if grep -qaE -- "$1" "$OUT"; then
		ok "$2 [$MODE]"
	else
		not_ok "$2 [$MODE]"
		diag "no line like: $1"
		diag "$(cut -c1-400 "$OUT" | tail -n 30)"
		diag "$(tail -n 5 "$ERR")"
	fi
}

# tells_not REGEX NAME
tells_not()
{
	if grep -qaE -- "$1" "$OUT"; then
		not_ok "$2 [$MODE]"
		diag "$(grep -aE -- "$1" "$OUT" | cut -c1-400)"
	else
		ok "$2 [$MODE]"
	fi
}

# in_order WORD...: the first words of the lines, all of them.
in_order()
{
	is "$(cut -d' ' -f1 "$OUT" | tr '\n' ' ')" "$1 " "$2 [$MODE]"
}

python_basics()
{
	talk <<-'END'
		open a python
		run 0 - 0
		import sys
		x = 41
		print("before"); print("wrong", file=sys.stderr)
		x + 1
		.
		run 0 - 0
		x; y = x
		.
		run 0 - 0
		def f(n):
		    raise ValueError("no %d" % n)

		f(y)
		.
		run 0 - 0
		for x in 1, 2 print(x)
		.
		run 0 - 0
		import asyncio
		await asyncio.sleep(0.01, "slept")
		.
		run 0 - 0
		print("first")
		display({"text/html": "<b>1</b>"}, raw=True)
		display({"text/latex": "$x$"}, raw=True)
		.
		run 0 - 0
		"ü€💥\0"
		.
		run 0 - 0
		sys.stdout.buffer.write(bytes(range(256))); None
		.
	END
	tells '^main .*"42"' "the value of the last expression"
	tells '^stdout 7 before' "what it printed"
	tells '^stderr 6 wrong' "and where"
	tells '"status":"ok","execution_count":1,' "it counts"
	tells '^error .*"ValueError".*"no 41"' "an error has its name and value"
	tells 'File .{1,3}<cell 3>.{1,3}, line 4, in <module>.*line 2, in f' "and the lines of the user's code"
	tells_not 'pinfold' "no frame of ours"
	tells '^error .*SyntaxError.*<cell 4>.{1,3}, line 1' "a syntax error, too"
	tells "^main .*'slept'" "await at top level"
	tells '^main .*ü€💥' "text in any language"
	tells '^stdout 256 .*\\x00\\x01' "bytes in any order"
	in_order "opened stdout stderr main done done error done error done main done stdout result result done main done stdout done" \
		"all in the order in which it was done"
}

python_rich()
{
	talk <<-'END'
		open a python
		run 0 - 0
		class A:
		    def _repr_html_(self): return "<i>a</i>"
		    def _repr_markdown_(self): return "*a*"
		    def _repr_svg_(self): return "<svg/>"
		    def _repr_png_(self): return b"\x89PNG"
		    def _repr_json_(self): return {"a": [1, None]}
		A()
		.
	END
	tells '"text/html": "<i>a</i>".*"text/markdown".*"image/svg.xml".*"image/png": "iVBORw==".*"application/json": ."a": .1, null' \
		"what a value says of itself, by type"
	if /usr/bin/python3 -c 'import pandas, matplotlib' 2>/dev/null; then
		talk <<-'END'
			open a python
			run 0 - 0
			import pandas
			pandas.DataFrame({"n": [1, 2], "s": ["a", None]})
			.
			run 0 - 0
			import matplotlib.pyplot as plt
			plt.plot([1, 2, 3])
			plt.figure(); plt.plot([3, 2, 1]); None
			.
			run 0 - 0
			len(plt.get_fignums())
			.
		END
		tells '"application/json": \[\{"n": 1, "s": "a"\}, \{"n": 2, "s": null\}\].*"text/plain": "   n ' \
			"a frame as records"
		tells '"text/html": "<div' "and as HTML"
		is "$(grep -c '^result .*"image/png": "iVBORw0KGgo' "$OUT")" 2 "figures are pictures, without show() [$MODE]"
		tells '^main .*"0"' "and are closed"
	else
		skip "frames and figures [$MODE]" "the Python module pandas is not installed"
	fi
}

forging()
{
	talk <<-'END'
		open a python
		run 0 - 0
		import os, sys
		forged = b'D00000010{"status":"ok"}R00000018{"text/plain":"forged"}'
		for fd in range(64):
		    try: os.write(fd, forged)
		    except OSError: pass
		print(forged.decode()); sys.stderr.write(forged.decode())
		"true"
		.
		run 0 - 0
		os.system("for fd in $(seq 3 9); do echo 'D00000010{\"status\":\"ok\"}' 2>/dev/null >&$fd; done; ls /proc/self/fd | wc -l")
		.
		run 0 - 0
		for fd in range(3, 64):
		    try: os.close(fd)
		    except OSError: pass
		"still here"
		.
		run 0 - 0
		pid = os.fork()
		if pid == 0:
		    print("the child prints", flush=True)
		else:
		    os.waitpid(pid, 0)
		pid > 0
		.
		run 0 - 0
		import threading, time
		def later():
		    time.sleep(0.2); print("from behind", flush=True)
		threading.Thread(target=later).start()
		.
		wait 1000
		run 0 - 0
		os.write(200, b"Zjunk"*10)
		time.sleep(5)
		.
		alive
		run 0 - 0
		1
		.
		restart
		run 0 - 0
		import os
		os.write(200, b'R00000003{"aP00000015{"text/plain":["no"]}R0000001a{"text/evil":"not a type"}')
		"goes on"
		.
		run 0 - 0
		os.write(200, b'R7fffffff'); time.sleep(5)
		.
		restart
		run 0 - 0
		import os
		while True: os.write(200, b'P00100000' + b'"' * 0x100000)
		.
		restart
		run 0 - 0
		import os; os.closerange(3, 1024)
		.
	END
	is "$(grep -c '^main .*forged' "$OUT")" 0 "nothing that is printed is a result [$MODE]"
	tells "^main .*'true'" "the result is the code's own"
	tells '^stdout 2 4' "a program that it starts has three descriptors"
	tells "^main .*'still here'" "nor does it lose its own by closing others"
	tells '^stdout .*the child prints' "a fork prints"
	is "$(grep -c '^main .*"True"' "$OUT")" 1 "and is not taken for the session [$MODE]"
	tells '^stdout .*from behind' "a thread goes on behind"
	tells '"status":"died".*"reason":"protocol","alive":false' "who breaks the protocol on purpose loses the session"
	tells '^alive 0' "which is over"
	tells '^refused conflict' "and executes nothing more"
	tells '^(main|result) .*malformed' "what is not of the right shape is not passed on"
	tells_not '^(main|result) .*(evil|"no")' "not a word of it"
	tells "^main .*'goes on'" "the rest is"
	tells '"status":"died".*"reason":"results"' "results have a limit"
	is "$(tail -n 1 "$OUT" | grep -c '"status":"died"')" 1 "one who closes everything is not heard any more [$MODE]"
}

# What a program does to its interpreter breaks no result of what comes after.
meddling()
{
	talk <<-'END'
		open a python
		run 0 - 0
		import builtins, json, os, sys
		for name in "len", "repr", "type", "str", "isinstance", "getattr", "hasattr", "memoryview", "eval", "compile":
		    setattr(builtins, name, None)
		json.dumps = os.write = os.read = os.getpid = os._exit = None
		sys.stdout.close()
		6 * 7
		.
		run 0 - 0
		print("printed all the same")
		{"a": [1.5, "b"]}
		.
		restart
		run 0 - 0
		import signal, time
		signal.signal(signal.SIGINT, signal.SIG_IGN)
		def late(*_): raise RuntimeError("too late")
		signal.signal(signal.SIGALRM, late)
		signal.setitimer(signal.ITIMER_REAL, 0.1); None
		.
		wait 400
		run 300 - 0
		while True: pass
		.
		run 0 - 0
		"still there"
		.
	END
	tells '^main .*"42"' "builtins, modules and streams that are no more: a value"
	tells '^stdout .*printed all the same' "what is printed afterwards"
	tells "^main .*'a': .1.5, 'b'" "and what comes of it"
	tells '^stderr .*RuntimeError: too late' "a handler that raises while nothing is executed is told"
	tells '"status":"timeout",.*"alive":true' "a program that ignores SIGINT does not do so for the next"
	tells "^main .*'still there'" "the session goes on"
}

meddling_elsewhere()
{
	talk <<-'END'
		open a bash
		run 0 - 0
		printf() { :; }; read() { :; }; trap() { :; }; local() { :; }; set() { :; }; [() { false; }
		.
		run 0 - 0
		echo "bash goes on"; false
		.
	END
	tells '^stdout .*bash goes on' "functions with the names of builtins: bash goes on"
	tells '"status":"error","execution_count":2,.*"exit_code":1' "and says how it ended"
	needs node "meddling: node" || return
	talk <<-'END'
		open a node
		run 0 - 0
		JSON.stringify = Buffer.from = Buffer.concat = Object.entries = null; 6 * 7
		.
		run 0 - 0
		"node goes on"
		.
		run 0 - 0
		[new Error("as a value")]
		.
	END
	tells '^main .*"42"' "node: a value"
	tells "^main .*'node goes on'" "it goes on"
	tells '^main .*Error: as a value.{1,2}n +at cell-3.js:1:2.{1,2}n.["]' "an error as a value has no frame of ours"
}

# What a notebook does.
as_in_notebooks()
{
	talk <<-'END'
		open a python
		run 0 - 0
		"hidden";
		.
		run 0 - 0
		("shown"
		) # ;
		.
		run 0 - 0
		class Chart:
		    def _repr_mimebundle_(self, include, exclude):
		        return {"application/vnd.vegalite.v5+json": {"mark": "bar"}, "text/x-mine": "no"}, {}
		Chart()
		.
		run 0 - 0
		display({"image/gif": b"GIF89a", "application/javascript": "1", "application/pdf": b"%PDF"}, raw=True)
		.
		run 0 - 0
		display({"text/x-mine": "no"}, raw=True)
		.
	END
	printf 'open a python\nrun 0 - 0\nx = """\f\n\342\200\250"""\n1/0\n.\n' >"$T/feed"
	tells_not '^main .*hidden' "a value with a semicolon behind it is not shown"
	tells "^main .*'shown'" "one with a comment is"
	tells '^main .*"application/vnd.vegalite.v5.json": ."mark": "bar".' "a chart says what it is in JSON"
	tells_not 'text/x-mine":' "but not in a type that nobody knows"
	tells '^result .*"image/gif": "R0lGODlh".*javascript": "1".*"application/pdf": "JVBERg=="' "more types"
	tells '^error .*unknown MIME type text/x-mine' "and no others"
	talk <"$T/feed"
	tells 'line 3, in <module>.*    1/0' "lines are counted as Python counts them"
	talk <<-'END'
		open a python
		run 0 - 0
		async def f():
		    raise ValueError("awaited")
		await f()
		.
	END
	tells '^error .*"awaited".*last.:.n  File .{1,3}<cell 1>.{1,3}, line 3' "no frame of how it is awaited"
}

ends()
{
	talk <<-'END'
		open a python
		run 0 - 0
		import sys; print("last words"); sys.exit(3)
		.
		restart
		run 0 - 0
		import os; os._exit(4)
		.
		restart
		run 0 - 0
		import os; os.abort()
		.
		restart
		run 0 - 0
		1 + 1
		.
	END
	tells '^stdout .*last words' "what it printed at last"
	tells '"status":"died",.*"exit_code":3,.*"reason":"exited","alive":false' "sys.exit() ends it with its code"
	tells '"status":"died",.*"exit_code":4,' "os._exit(), too"
	tells '"status":"died",.*"exit_code":null,"signal":6,"reason":"signaled"' "a crash"
	tells '"status":"ok","execution_count":1,' "it can be started again"
}

interrupts()
{
	local lang

	talk <<-'END'
		open a python
		run 0 - 1
		while True: pass
		.
		run 300 - 0
		while True: pass
		.
		run 0 - 300
		import time; kept = 5; time.sleep(60)
		.
		run 300 - 0
		while True:
		    try: time.sleep(60)
		    except KeyboardInterrupt: pass
		.
		alive
		restart
		run 0 - 0
		import asyncio, subprocess; kept = 6
		.
		run 0 - 300
		await asyncio.sleep(60)
		.
		run 0 - 300
		subprocess.run(["sleep", "60"])
		.
		run 0 - 0
		kept
		.
	END
	tells '"status":"interrupted","execution_count":1,' "at once, before it has begun"
	tells '^error .*KeyboardInterrupt' "it is told"
	tells '"status":"timeout","execution_count":2,.*"alive":true' "time is over"
	tells '"status":"interrupted","execution_count":3,' "a call that waits"
	tells '"status":"timeout","execution_count":4,.*"reason":"timeout","alive":false' "who does not obey is killed"
	is "$(grep -c '"status":"interrupted".*"alive":true' "$OUT")" 4 "each time the session stays [$MODE]"
	tells '^main .*"6"' "with what it knew"
	for lang in node bash r; do
		[ "$lang" != r ] || needs Rscript "interrupted: R" || continue
		[ "$lang" != node ] || needs node "interrupted: node" || continue
		case $lang in
		node) code='kept = 7; while (true) {}' slow='await new Promise(() => {})' last=kept ;;
		bash) code='kept=7; f() { while :; do :; done; echo no; }; f; echo no' slow='sleep 60; echo no' last='echo "$kept"' ;;
		r) code='kept <- 7; repeat {}' slow='Sys.sleep(60)' last=kept ;;
		esac
		talk <<-END
			open a $lang
			run 0 - 400
			$code
			.
			run 300 - 0
			$slow
			.
			run 0 - 0
			$last
			.
		END
		tells '"status":"interrupted","execution_count":1,.*"alive":true' "$lang: a loop"
		tells '"status":"timeout","execution_count":2,.*"alive":true' "$lang: time is over"
		tells '7.*' "$lang: with what it knew"
		tells '"status":"ok","execution_count":3,' "$lang: it goes on"
		tells_not '^stdout .*no' "$lang: nothing of it was executed after that"
	done
}

input()
{
	talk <<-'END'
		open a python
		answer Ada Lovelace ü
		run 0 - 0
		name = input("name? "); name
		.
		hush
		run 0 - 0
		input()
		.
		run 0 n 0
		input("anybody? ")
		.
		run 0 - 0
		import sys; sys.stdin.read()
		.
	END
	tells '^input 6 name\?' "a question"
	tells "^main .*'Ada Lovelace ü'" "its answer"
	is "$(grep -c '^error .*EOFError' "$OUT")" 2 "no answer is an error [$MODE]"
	tells '^error .*input\(\) is refused' "a refusal says so"
	tells "^main .*\"''\"" "standard input is empty"
}

much()
{
	talk <<-'END'
		open a python
		run 0 - 0
		import sys
		for i in range(1000): sys.stdout.write("x" * 100000)
		"all of it"
		.
		run 0 - 0
		"x" * 20000000
		.
		run 0 - 0
		for i in range(70): display("x" * 1000000)
		.
		run 0 - 0
		x = "short"; x
		.
	END
	is "$(awk '$1 == "stdout" { n += $2 } END { print n }' "$OUT")" 100000000 "100 MB, all of them [$MODE]"
	tells "^main .*'all of it'" "and then the result"
	tells 'left out' "a result that is too large is left out"
	tells '^stderr .*60 MiB' "and all that are too many"
	tells "^main .*'short'" "it goes on"
}

several()
{
	talk <<-'END'
		open a python
		open b python
		use a
		run 0 - 0
		who = "a"; open("/tmp/note", "w").write("files are shared"); None
		.
		use b
		run 0 - 0
		open("/tmp/note").read(), "who" in globals()
		.
		close
		use a
		run 0 - 0
		who
		.
		open c cobol
	END
	tells "^main .*'files are shared', False" "two in one sandbox have files in common, not names"
	tells "^main .*'a'" "one goes on without the other"
	tells '^refused invalid_argument: .*cobol' "a language that is not there"
}

node()
{
	needs node "node" || return
	talk <<-'END'
		open a node
		run 0 - 0
		let x = 1; const y = 2; class A {}; function f() { return x + y }
		f()
		.
		run 0 - 0
		let x = 5; const y = 6;
		f()
		.
		run 0 - 0
		{ a: 1, b: [x] }
		.
		run 0 - 0
		import fs from 'fs'
		import { join as put } from 'path'
		const { cpus } = await import('os')
		typeof fs.readFileSync + put('a', 'b') + typeof cpus
		.
		run 0 - 0
		await new Promise((done) => setTimeout(() => done('waited'), 20))
		.
		run 0 - 0
		function g() {
			throw new RangeError('no')
		}
		g()
		.
		run 0 - 0
		let z = ;
		.
		run 0 - 0
		console.log('out'); console.error('err'); display('<b>', 'text/html'); undefined
		.
		run 0 - 0
		for (let i = 0; i < 64; i++) try { if (fs.fstatSync(i).isSocket()) fs.writeSync(i, 'D00000010{"status":"ok"}') } catch {}
		require('child_process').execSync('ls /proc/self/fd | wc -l').toString()
		.
		run 0 - 0
		setTimeout(() => { throw new Error('behind') }, 10); 1
		.
		run 0 - 0
		await new Promise((done) => setTimeout(done, 50)); 'stays'
		.
		run 0 - 0
		process.exit(5)
		.
	END
	tells '^main .*"3"' "node: a value"
	tells '^main .*"11"' "node: names stay, and can be declared again"
	tells '^main .*\{ a: 1, b: \[ 5 \] \}' "node: an object is no block"
	tells "^main .*'functiona/bfunction'" "node: imports"
	tells "^main .*'waited'" "node: await at top level"
	tells '^error .*RangeError.*g \(cell-6.js:2:.*cell-6.js:4:' "node: lines of the user's code"
	tells_not '^error .*(node:inspector|eval)' "node: no frame of ours"
	tells '^error .*cell-7.js:1:9.*SyntaxError' "node: a syntax error"
	tells '^stdout 4 out' "node: output"
	tells '^result .*text/html' "node: something to show"
	tells "^main .*'4" "node: a program that it starts has three descriptors"
	tells '^stderr .*Uncaught Error: behind' "node: an error behind is told"
	tells "^main .*'stays'" "node: and does not end it"
	tells '"status":"died",.*"exit_code":5,' "node: its end"
}

bash_()
{
	talk <<-'END'
		open a bash
		run 0 - 0
		x=5; declare -A map=([k]=v); cd /tmp; f() { echo "f $1"; }
		.
		run 0 - 0
		echo "$x ${map[k]} $PWD"; f 1
		.
		run 0 - 0
		true
		nosuchprogram
		.
		run 0 - 0
		if then
		.
		run 0 - 0
		set -e
		g() { false; echo not-here; }
		g
		echo nor-here
		.
		run 0 - 0
		echo "still $x"; set +e
		.
		run 0 - 0
		for fd in {3..63}; do echo 'D00000010{"status":"ok"}' >&"$fd"; done 2>/dev/null
		ls /proc/self/fd | wc -l; printf 'a\0b\377\n'; cat
		.
		run 0 - 0
		exit 9
		.
	END
	tells '^stdout .*5 v /tmp.*f 1' "bash: names, places and functions stay"
	tells '^stderr .*line 2: nosuchprogram' "bash: lines of the user's code"
	tells '"status":"error","execution_count":3,.*"exit_code":127,' "bash: its status"
	tells '"status":"error","execution_count":4,.*"exit_code":2,' "bash: a syntax error"
	tells '"status":"error","execution_count":5,.*"exit_code":1,' "bash: set -e ends the code"
	tells_not '(not-here|nor-here)' "bash: where it failed"
	tells '^stdout .*still 5' "bash: not the session"
	tells '^stdout .*4.x0aa.x00b' "bash: a program that it starts has three descriptors"
	tells '"status":"died",.*"exit_code":9,' "bash: its end"
}

r()
{
	needs Rscript "R" || return
	talk <<-'END'
		open a r
		run 0 - 0
		x <- 5
		x * 2
		x + 1
		.
		run 0 - 0
		f <- function(n) {
		  stop("no ", n)
		}
		f(x)
		.
		run 0 - 0
		data.frame(a = 1:2, b = c("<x>", "y"))
		.
		run 0 - 0
		plot(1:3); invisible(1)
		.
		run 0 - 0
		cat("out\n"); message("err"); warning("careful")
		.
		answer Ada
		run 0 - 0
		readline("name? ")
		.
		run 0 n 0
		readline("name? ")
		.
		run 0 - 0
		length(system("ls /proc/self/fd", intern = TRUE))
		.
		run 0 - 0
		1 +* 2
		.
		run 0 - 0
		quit("no", 6)
		.
	END
	tells '^stdout .*\[1\] 10' "R: values are printed"
	tells '^main .*\[1\] 6' "R: the last one is the result"
	tells '^error .*no 5.*cell-2.R:4: f\(x\).*cell-2.R:2: stop' "R: lines of the user's code"
	tells '^main .*text/html.*&lt;x&gt;' "R: a frame as HTML"
	tells '^result .*"image/png":"iVBORw0KGgo' "R: a plot is a picture"
	tells '^stderr .*err.*careful' "R: messages and warnings"
	tells '^main .*Ada' "R: input"
	tells '^error .*readline\(\) is refused' "R: or not"
	tells '^error .*cell-9.R:1:4: unexpected' "R: a syntax error"
	tells '"status":"died",.*"exit_code":6,' "R: its end"
}

# An interpreter that takes all memory is killed for it.
memory()
{
	[ "$MODE" = R ] || return
	live --memory 128M
	talk <<-'END'
		open a python
		run 0 - 0
		x = bytearray(1 << 30)
		.
		run 0 - 0
		y = [bytearray(1 << 20) for i in range(500)]
		.
	END
	tells '"status":"died".*"reason":"oom"' "out of memory"
}

sandbox_ends()
{
	live --time 4s
	talk <<-'END'
		open a python
		run 0 - 0
		import time; time.sleep(60)
		.
		alive
		run 0 - 0
		1
		.
		restart
	END
	tells '"status":"died"' "it ends with its sandbox"
	tells '^alive 0' "which is known"
	tells '^restart -1' "and cannot begin again there"
	live --nofile 100
	talk <<<"open a python"
	tells '^refused .*descriptor' "a sandbox with too few descriptors"
}

checks()
{
	daemon_mode
	check "the talker is built" build
	CALL_SECONDS=100
	daemon_start --warm 2 --warm-python 0
	live
	python_basics
	python_rich
	forging
	meddling
	meddling_elsewhere
	as_in_notebooks
	ends
	interrupts
	input
	much
	several
	node
	bash_
	r
	pinfold ps
	pinfold exec "$ID" -- sh -c 'ps -e | grep -cE "python|node|R$"'
	prints 0 "nothing of them is left inside"
	memory
	sandbox_ends
	daemon_stop
	exits 0 "the daemon ends"
}

run_checks
