#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --pty and shell: a terminal of the sandbox's own, connected to the caller's.
. "$(dirname "$0")/../lib/cli.sh"

loop='while :; do read -t 1 x; done'

ordinary()
{
	on_terminal -- run --pty -- sh -c \
		'test -t 0 && test -t 1 && test -t 2 && tty && stty size; exit 5'
	exits 5 "the command's status"
	prints $'/dev/pts/0\r\n40 100\r' "a terminal, with the size of the caller's"
	CALL_ENV=(TERM=vt220)
	on_terminal -- run --pty -- sh -c 'echo $TERM'
	prints $'vt220\r' "TERM is the caller's"
	CALL_ENV=()
	on_terminal -- run --pty -- env
	check "and the only variable that is added" test \
		"$(cut -d= -f1 "$OUT" | sort | tr '\n' ' ')" = \
		"HOME LANG PATH PIP_CACHE_DIR TERM USER XDG_CACHE_HOME npm_config_cache "
	on_terminal -- run --pty -- printf 'a\033[31mred\n'
	prints $'a\e[31mred\r' "control sequences go through"
	on_terminal -- run --pty -- sh -c 'echo out; echo err >&2'
	prints $'out\r\nerr\r' "both streams, in order"
	on_terminal -- run --pty -- sh -c 'ps -o tty= -p $$; ps -o sid= -p $$ | tr -d " "; echo $$'
	check "the command leads a session of its own" test "$(sed -n 2p "$OUT")" = \
		"$(sed -n 3p "$OUT")"
	on_terminal 'expect:ready' 'resize:50x120' -- run --pty -- \
		bash -c 'trap "stty size; exit" WINCH; echo ready; while :; do read -t 0.1 x; done'
	check "a new size arrives" grep -q '^50 120' "$OUT"
}

keys()
{
	on_terminal 'expect:name' 'send:ada\r' -- run --pty -- sh -c \
		'echo name; read n; echo "hello $n"'
	check "typing" grep -q 'hello ada' "$OUT"
	on_terminal 'expect:ready' 'send:\x03' -- run --pty -- \
		bash -c "trap 'echo got it; exit 7' INT; echo ready; $loop"
	exits 7 "Ctrl-C goes inside"
	check "and is seen there" grep -q 'got it' "$OUT"
	on_terminal 'expect:ready' 'send:\x1c' -- run --pty -- \
		bash -c "trap 'exit 8' QUIT; echo ready; $loop"
	exits 8 "Ctrl-\\ goes inside"
	on_terminal 'expect:ready' 'send:line\r\x04' -- run --pty -- sh -c 'echo ready; exec cat'
	exits 0 "Ctrl-D ends the input"
}

# The caller's terminal is as before, however the run ends.
restored()
{
	local end

	# Of the terminal's settings alone: the harness's launcher is between.
	CALL_OUTER=(sh -c 'stty -g; "$@"; rc=$?; stty -g; exit $rc' sh)
	for end in 'exit 3' 'kill -9 $$' 'stty raw -echo'; do
		on_terminal -- run --pty -- sh -c "$end"
		check "the caller's terminal is restored after $end" test \
			"$(head -1 "$OUT")" = "$(tail -1 "$OUT")"
	done
	on_terminal -- run --pty --time 300ms -- tail -f /dev/null
	check "the caller's terminal is restored after a timeout" test \
		"$(head -1 "$OUT")" = "$(tail -1 "$OUT")"
	exits 124 "which is told"
	on_terminal -- run --pty -- no-such-command
	check "the caller's terminal is restored after a failed start" test \
		"$(head -1 "$OUT")" = "$(tail -1 "$OUT")"
	CALL_OUTER=()
}

# No terminal on our side: the command has one all the same.
without()
{
	inside --pty -- sh -c 'test -t 0 && test -t 1 && echo yes; stty size'
	prints $'yes\r\n24 80\r' "a terminal although the caller has none"
	inside --pty --time 5s -- cat < <(printf 'hi\n')
	exits 0 "an input that ends is Ctrl-D"
	check "its text arrived" grep -q hi "$OUT"
	inside_json --pty -- sh -c 'echo out; echo err >&2; tty'
	document "--pty with --json"
	json_has 'out == b"out\r\nerr\r\n/dev/pts/0\r\n" and err == b""' "all is standard output"
}

shell()
{
	on_terminal 'expect:[$] ' 'send:echo $((6*7)) $0; cd /tmp; pwd\r' 'expect:42 .*[$] ' \
		'send:exit 3\r' -- shell
	exits 3 "shell: its status"
	check "shell: commands run" grep -q '42 bash' "$OUT"
	on_terminal 'expect:[$] ' 'send:cat /work/f\r' 'expect:shown.*[$] ' 'send:\x04' -- shell \
		--dir "$W" \
		--workdir /work
	exits 0 "shell: --dir, and Ctrl-D ends it"
	pinfold shell
	refuses invalid_argument terminal "shell without a terminal"
}

checks()
{
	echo shown >"$W/f"
	ordinary
	keys
	restored
	without
	shell
}

run_checks
