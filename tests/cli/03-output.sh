#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Output streams through as it comes, byte for byte. A reader that is slow, absent or gone neither
# keeps the sandbox alive nor costs memory.
. "$(dirname "$0")/../lib/cli.sh"

exact()
{
	/usr/bin/python3 -I -c 'import os, sys
sys.stdout.buffer.write(bytes(range(256)) * 3 + b"\r\n\0\x1b[2J\xff\xfe no newline at the end")' \
		>"$W/bytes"
	inside --stdin "$W/bytes" -- cat
	check "all bytes, and no newline added" cmp "$W/bytes" "$OUT"
	inside --stdin "$W/bytes" -- sh -c 'cat >&2'
	check "on standard error, too" cmp "$W/bytes" <(head -c "$(stat -c %s "$W/bytes")" "$ERR")
	check "and standard output is empty then" test ! -s "$OUT"
	head -c 12000000 /dev/urandom >"$W/big"
	own "$W"
	inside --stdin "$W/big" -- cat
	check "12 MB go through cat unchanged" cmp "$W/big" "$OUT"
	inside -- sh -c 'head -c 3000000 /dev/zero | tr "\0" x'
	check "a line of 3 MB" test "$(wc -c <"$OUT")" = 3000000
	inside -- sh -c 'echo out; echo err >&2'
	prints out "standard output has its own"
	check "standard error has its own" grep -qx err "$ERR"
	# What is written right before the end is there: nothing races with the exit.
	for _ in 1 2 3 4 5; do
		inside -- sh -c 'head -c 60000 /dev/zero; exit 9'
		[ "$RC:$(wc -c <"$OUT")" = 9:60000 ] || break
	done
	check "60,000 bytes and an exit at once, five times" test "$RC:$(wc -c <"$OUT")" = 9:60000
	inside -- sh -c '(tail -f /dev/null; echo late) & echo early'
	prints early "what a child would say later is not waited for"
}

lines_are()
{
	[ "$(grep -vc '^pinfold: ' "$1")" = "$2" ]
}

# The command waits for an answer after each line, so what has not come yet will never come.
streams()
{
	local both=$EVIDENCE/both i

	mkfifo "$W/answers"
	call_files run streams
	call_argv
	"${CALL[@]}" run -- sh -c \
		'for i in 1 2 3; do echo o$i; read x; echo e$i >&2; read x; done' \
		<"$W/answers" >"$both" 2>&1 {LIVE_FD}>&- &
	BACKGROUND+=("$!")
	exec {ANSWERS}>"$W/answers"
	for i in 1 2 3 4 5 6; do
		wait_for 10 lines_are "$both" "$i"
		echo >&"$ANSWERS"
	done
	exec {ANSWERS}>&-
	wait "${BACKGROUND[-1]}"
	RC=$?
	OUT=$both
	exits 0 "each line comes before the next is asked for"
	check "in the order in which they were written" test \
		"$(grep -v '^pinfold: ' "$both" | tr '\n' ' ')" = "o1 e1 o2 e2 o3 e3 "
}

no_child()
{
	[ -z "$(cat "/proc/$1/task/$1/children" 2>/dev/null)" ]
}

readers()
{
	local status start=$SECONDS

	call_files run yes "| head"
	call_argv
	"${CALL[@]}" run -- yes 2>"$ERR" | head -1 >"$OUT"
	status=${PIPESTATUS[0]}
	RC=$status
	prints y "pinfold run -- yes | head -1 prints one line"
	check "and ends long before its time limit" test $((SECONDS - start)) -lt 45
	exits 141 "as the command does: by SIGPIPE"

	# Nobody reads until we do.
	mkfifo "$W/slow"
	call_files run yes "| slow reader"
	call_argv -p "$EVIDENCE/slow.pid"
	"${CALL[@]}" run --time 700ms --grace 100ms -- yes >"$W/slow" 2>"$ERR" {LIVE_FD}>&- &
	BACKGROUND+=("$!")
	exec {SLOW}<"$W/slow"
	wait_for 10 test -s "$EVIDENCE/slow.pid"
	check "the sandbox ends at its limit although nobody reads" \
		wait_for 10 no_child "$(cat "$EVIDENCE/slow.pid")"
	cat <&"$SLOW" >"$OUT"
	exec {SLOW}<&-
	wait "${BACKGROUND[-1]}"
	RC=$?
	exits 124 "then its status is told"
	check "and what was written until then is whole lines of y" test \
		"$(head -c 100000 "$OUT" | sort -u)" = y
	CALL_OUTER=(sh -c 'exec "$@" >/dev/full' sh)
	inside -- echo lost
	CALL_OUTER=()
	exits 1 "output that cannot be written is a failure"
	says 'standard output.*No space left' "which is said"
	says '^pinfold: remedy: make room' "with what helps"
	CALL_OUTER=(sh -c 'exec "$@" >/dev/full' sh)
	inside -- sh -c 'echo lost; exit 7'
	CALL_OUTER=()
	exits 7 "but never hides the command's own status"
	CALL_OUTER=(sh -c 'exec "$@" >&- 2>&-' sh)
	inside -- sh -c 'echo out; echo err >&2; exit 4'
	CALL_OUTER=()
	exits 4 "with standard output and error closed"
}

# What every verb prints may be lost, as text and as JSON.
lost()
{
	local verb words

	CALL_OUTER=(sh -c 'exec "$@" >/dev/full' sh)
	for verb in ls "ls --json" "token ls" "token ls --json" "secret ls" "secret ls --json" \
		"trust --list --json" "image ls --json" "approvals" "approvals --json" \
		"tenant ls --json" "allow --explain --json http://example.org/" "verify --json" \
		"version" "help"; do
		read -ra words <<<"$verb"
		pinfold "${words[@]}"
		refuses limit_exceeded "cannot write to standard output" "$verb that is lost"
		check "$verb that is lost: once" test "$(wc -l <"$ERR")" = 2
	done
	CALL_OUTER=()
}

# Far more than any buffer, at full speed.
flood()
{
	inside_start FLOOD --time 4s -- yes 'a flood that never ends'
	wait_for 10 test -s "$FLOOD_OUT"
	wait_for 10 grown "$FLOOD_OUT" 50000000
	check "memory of pinfold stays small in a flood" test "$(awk '/^VmHWM/ {print $2}' \
		"/proc/$FLOOD_PID/status")" -lt 400000
	inside_wait FLOOD
	exits 124 "a flood ends at its time limit"
	rm -f "$FLOOD_OUT"
	inside_json --time 700ms -- sh -c 'yes & yes >&2'
	exits 124 "a flood on both streams, with --json"
	document "a flood on both streams"
	json_has 'all(s["truncated"] and s["bytes"] > 5e6 for s in (d["stdout"], d["stderr"]))' \
		"both are truncated"
	json_has 'len(out) <= (1 << 20) and len(err) <= (1 << 20)' "to a MiB"
}

grown()
{
	[ "$(stat -c %s "$1")" -gt "$2" ]
}

terminal()
{
	on_terminal -- run -- printf 'a\033[31mred\007\tb\302\233\342\200\256\377\n'
	prints $'a^[[31mred^G\tb<U+009B><U+202E>\\xff\r' \
		"on a terminal control sequences are escaped"
	on_terminal -- run --raw -- printf 'a\033[31mred\007\n'
	prints $'a\e[31mred\a\r' "unless --raw"
	on_terminal -- run -- sh -c 'test -t 0 || test -t 1 || test -t 2 || echo none'
	prints $'none\r' "without --pty the command has no terminal"
	on_terminal -- run --json -- printf '\033[2J'
	check "--json on a terminal holds no control sequence" test -z "$(tr -d '\r\n' <"$OUT" |
		tr -d '[:print:]')"
}

checks()
{
	exact
	streams
	readers
	lost
	flood
	terminal
}

run_checks
