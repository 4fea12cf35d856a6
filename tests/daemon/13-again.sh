#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A process that runs one thing after the other stays on its connection, by which it can do no more than by a new one.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"

# again_begin: the program that is told what to do.
again_begin()
{
	find_library
	check "the caller compiles" cc -I"$PROJECT_DIR/include" -Wl,--wrap=sendmsg -o "$M/again" \
		"$(dirname "$0")/again.c" "${LINK[@]}"
	mkfifo "$W/orders"
	: >"$W/answers"
	ANSWERS=0
	local copy=$PINFOLD_COPY
	PINFOLD_COPY=$M/again CALL_SECONDS=300
	call_files again
	call_argv
	PINFOLD_COPY=$copy
	exec {ORDERS}<>"$W/orders"
	"${CALL[@]}" <"$W/orders" >"$W/answers" 2>"$ERR" {LIVE_FD}>&- {ORDERS}>&- &
	AGAIN=$!
	BACKGROUND+=("$!")
}

again_end()
{
	exec {ORDERS}>&-
	wait "$AGAIN" 2>/dev/null
}

answered()
{
	[ "$(grep -cx '\.' "$W/answers")" = "$ANSWERS" ]
}

# again ORDER: sets ANSWER, what it said to that.
again()
{
	local before

	before=$(wc -l <"$W/answers")
	ANSWERS=$((ANSWERS + 1))
	echo "$1" >&"$ORDERS"
	wait_for 60 answered || not_ok "an answer to $1 [$MODE]"
	ANSWER=$(tail -n "+$((before + 1))" "$W/answers" | grep -vx "\\.")
}

# says TEXT NAME
says()
{
	check "$2" test "$ANSWER" = "$1"
}

open_now()
{
	find "/proc/$(pgrep -P "$AGAIN" -x again)/fd" -mindepth 1 | wc -l
}

without_front()
{
	local front id n open

	again "run one"
	says one "a run"
	again "run two"
	says two "the next"
	front=$(front_pid)
	kill -STOP "$front"
	for n in 3 4 5; do
		again "run $n"
		says $n "run $n needs nobody at the door"
	done
	kill -CONT "$front"
	open=$(open_now)
	for n in 1 2 3 4 5 6; do
		again "run n"
	done
	check "nothing is left open behind a run" test "$(open_now)" = "$open"
	inside --detach "${BEST[@]}"
	id=$(cat "$OUT")
	again "exec $id a"
	says a "one in a sandbox that lives"
	kill -STOP "$front"
	again "exec $id b"
	says b "the next there, too"
	again "run c"
	says c "and one in a fresh one"
	kill -CONT "$front"
	pinfold kill "$id"
	again "run d"
	says d "when that sandbox is gone"
	again "exec $id e"
	check "which is said of it" grep -q '^not_found' <<<"$ANSWER"
}

two_processes()
{
	again "fork both"
	says "both
both
both
both" "a child of fork() has connections of its own"
	again "run after"
	says after "and we have ours"
}

# The process that serves HTTP runs one thing after the other, too.
over_http()
{
	local api open

	[ "$MODE" = R ] || return 0
	api=$(pgrep -P "$(pgrep -P "$DAEMON" -x pinfold-http)" -x pinfold-api)
	posts 4
	open=$(find "/proc/$api/fd" -mindepth 1 | wc -l)
	posts 20
	check "nothing is left open behind runs over HTTP: $open" test "$(find "/proc/$api/fd" -mindepth 1 | wc -l)" -le $((open + 2))
}

posts()
{
	local i

	for ((i = 0; i < $1; i++)); do
		curl -sf --unix-socket "$M/run/daemon-http.sock" -o "$EVIDENCE/post" -d '{"command": ["true"]}' \
			http://localhost/v1/runs || not_ok "a run over HTTP"
	done
}

# What one that is misused can bring about.
misused()
{
	again "twice"
	says "status 125" "who asks again ends what runs"
	again "run f"
	says f "and can ask on"
	check "nothing of it runs any more" wait_for 10 not pgrep -fx "sleep 60.1313"
	again "junk"
	again "run g"
	says g "who is not understood may call again"
	inside "${BEST[@]}" --daemon -- echo others
	prints others "others do not notice"
}

not()
{
	! "$@"
}

daemon_again()
{
	local i

	for i in 1 2; do
		daemon_stop
		exits 0 "the daemon ends, whoever is connected"
		daemon_start --warm 1 --warm-python 0
		again "run back $i"
		says "back $i" "the next daemon is found"
		again "run and $i"
		says "and $i" "and stayed with"
	done
}

# Only memory, pipes and terminals are taken from anybody.
files_are_refused()
{
	again "run h"
	again "file"
	again "run i"
	check "who sends files is not listened to" grep -q '^denied' <<<"$ANSWER"
}

checks()
{
	daemon_mode
	daemon_start --warm 2 --warm-python 0
	again_begin
	without_front
	two_processes
	over_http
	misused
	daemon_again
	files_are_refused
	again_end
	daemon_stop
	exits 0 "it ends"
	check "and nothing is left" nothing_left
}

run_checks
