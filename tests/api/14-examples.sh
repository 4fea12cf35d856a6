#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The programs of examples/ do what they say, with what they say they need.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/api.sh"
. "$(dirname "$0")/../lib/client.sh"

# example ARG...: one of them, as the caller of this mode; sets OUT, ERR and RC.
example()
{
	call_files "$@"
	as_user env -i PATH=/usr/bin:/bin LANG=C.UTF-8 HOME="$USER_HOME" PINFOLD="$PINFOLD_COPY" \
		PINFOLD_HOME="$M/home" PINFOLD_CONFIG="$M/config" PINFOLD_SOCKET="$M/run/daemon.sock" \
		XDG_RUNTIME_DIR="$M/run" timeout -s ABRT 120 "$@" >"$OUT" 2>"$ERR" {LIVE_FD}>&-
	RC=$?
	[ "$RC" != 124 ] || where_it_hangs
}

# What the daemon's processes, and those inside its sandboxes, wait for.
where_it_hangs()
{
	local line

	while IFS= read -r line; do
		diag "$line"
	done < <(ps -e -o pid=,ppid=,stat=,cputimes=,wchan:24=,args= | awk -v top="$DAEMON" '
		{ parent[$1] = $2; line[$1] = substr($0, 1, 160) }
		END {
			for (pid in parent) {
				for (p = pid; p in parent && p != top; )
					p = parent[p]
				if (p == top)
					print line[pid]
			}
		}')
}

tool()
{
	example /usr/bin/python3 -I "$W/tool.py" <<<'print(6 * 7)'
	prints 42 "tool.py: what was printed"
	example /usr/bin/python3 -I "$W/tool.py" --no-daemon <<<'import socket; socket.create_connection(("203.0.113.5", 80))'
	has '\[connect 203.0.113.5:80: this sandbox has no network; .*--allow' "tool.py: what was refused, and what would allow it"
	example /usr/bin/python3 -I "$W/tool.py" --time 300ms --grace 100ms <<<'while True: pass'
	has '^\[ran longer than 300ms; raise it with --time\]' "tool.py: the limit that was hit"
	example /usr/bin/python3 -I "$W/tool.py" --time never <<<''
	has '^\[--time: ' "tool.py: an option that is wrong"
}

analyst()
{
	example /usr/bin/python3 -u -X faulthandler -I "$W/analyst.py" "$HTTP" "$W/sales.png"
	prints "3
   month  sold
February    30
AttributeError: 'DataFrame' object has no attribute 'profit'
<AxesSubplot: xlabel='month'>
wrote $W/sales.png" "analyst.py: values, output, an error, a figure"
	check "analyst.py: which is a picture" test "$(head -c 4 "$W/sales.png" | tail -c 3)" = PNG
	api GET /v1/sandboxes
	check "analyst.py: and no sandbox is left" grep -qF '"items":[]' "$OUT"
}

stream()
{
	# shellcheck disable=SC2016 # the sandbox's shell expands it
	example /usr/bin/node "$W/stream.mjs" "$HTTP" 'for i in 1 2 3; do echo $i; done; echo no >&2; exit 3'
	prints $'1\n2\n3' "stream.mjs: standard output"
	says '^no$' "stream.mjs: standard error"
	exits 3 "stream.mjs: the exit status"
	example /usr/bin/node "$W/stream.mjs" "$HTTP"
	exits 125 "stream.mjs: a request that is refused"
}

# These lines, one after the other. For grep they would be as many patterns, each of which is enough.
printed()
{
	[[ $(cat "$OUT"; echo .) == *"$1"* ]]
}

# Over TCP, with a token, as most agents come.
agent()
{
	token --tenant agent --ttl 1h
	example env PINFOLD_TOKEN="$SECRET" /usr/bin/python3 -I "$W/agent.py" "http://127.0.0.1:$PORT"
	check "agent.py: a background process, answered and followed to its end" printed \
		$'built one\nbuilt two\nship?\nyou said yes\nexited with 0\n' "$OUT"
	check "agent.py: a workspace taken back, and its file to the byte" printed \
		$'2 notes\n[\'/home/user/notes deleted\']\nb\'a\\nb\\n\'\n' "$OUT"
	check "agent.py: an error that says what to do" grep -q '^invalid_argument.unknown: "timeout" .*Did you mean "time"?)$' "$OUT"
	check "agent.py: and that is all" test "$(wc -l <"$OUT")$(cat "$ERR")" = 9
}

has()
{
	check "$2" grep -qE -e "$1" "$OUT"
}

checks()
{
	cp "$PROJECT_DIR"/examples/*.{py,mjs} "$W"
	own "$W"
	tool
	serve_start --warm-python 0 --warm-node 0
	analyst
	stream
	agent
	daemon_stop
}

run_checks
