#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kill -9 of each process of the daemon at random moments under load. Front: the runs that are there
# go on, and it comes back. The warden: everything ends with it, and the next start removes what is
# left. A guest: its run alone. Nobody ever gets a wrong result.
# PINFOLD_TEST_ROUNDS: how many kills of each; PINFOLD_TEST_SEED: which moments.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"

ROUNDS=${PINFOLD_TEST_ROUNDS:-40}
WORKERS=2
PATIENCE=${PINFOLD_TEST_PATIENCE:-30} # seconds for all kills of one kind

workers_start()
{
	local i

	rm -f "$W"/stop "$W"/worker.*
	call_argv
	for i in $(seq $WORKERS); do
		"$PROJECT_DIR/tests/daemon/worker.py" "$i" "$W/stop" "${CALL[@]}" run "${BEST[@]}" --daemon \
			--stdin /dev/null -- >"$W/worker.$i" {LIVE_FD}>&- &
		WORKER_PIDS+=("$!")
	done
}

workers_stop()
{
	touch "$W/stop"
	wait "${WORKER_PIDS[@]}"
	WORKER_PIDS=()
	check "$1: no wrong result" test -z "$(cat "$W"/worker.? | grep wrong | head -3)"
	check "$1: there were right ones" grep -q right "$W"/worker.?
	diag "$MODE, $1: $(cat "$W"/worker.? | cut -d: -f1 | sort | uniq -c | paste -sd ' ' | tr -s ' ')"
}

# moment: a random part of the time that a few runs take.
moment()
{
	read -r -t "0.0$((RANDOM % 30 + 10))" <>"$W/never" || true
}

victim_front()
{
	front_pid
}

victim_guest()
{
	local all

	read -r -a all <<<"$(guests | paste -sd ' ')"
	[ ${#all[@]} -gt 0 ] && echo "${all[RANDOM % ${#all[@]}]}"
}

kill_some()
{
	local pid hit=0 until=$((SECONDS + PATIENCE))

	while [ $hit -lt $ROUNDS ] && [ $SECONDS -lt $until ]; do
		moment
		pid=$("victim_$1") && [ -n "$pid" ] && kill -9 "$pid" 2>/dev/null && hit=$((hit + 1))
	done
	# A machine that is busy with other tests gets fewer in that time.
	check "$1: kills find somebody" test "$hit" -ge $((ROUNDS / 6))
	diag "$MODE, $1: $hit kills"
}

fronts()
{
	daemon_start --warm 2 --warm-python 0
	CALL_SECONDS=$((PATIENCE + 60)) inside_start LONG "${BEST[@]}" --daemon --time 10m -- sh -c 'echo ready; read x; echo "got $x"' \
		<>"$W/never"
	wait_for 5 grep -q ready "$LONG_OUT"
	workers_start
	kill_some front
	workers_stop front
	check "front: the warden is still there" kill -0 "$DAEMON"
	check "front: so is a run that was there before" kill -0 "$LONG_PID"
	echo word 1<>"$W/never" # even when nobody reads
	inside_wait LONG
	prints $'ready\ngot word' "front: and it goes on to its end"
	inside "${BEST[@]}" --daemon -- echo again
	prints again "front: it serves on"
	daemon_stop
	check "front: nothing is left" nothing_left
}

some_guests()
{
	daemon_start --warm 6 --warm-python 0
	workers_start
	kill_some guest
	workers_stop guest
	inside "${BEST[@]}" --daemon -- echo again
	prints again "guest: it serves on"
	daemon_stop
	check "guest: nothing is left" nothing_left
}

wardens()
{
	local i children alive=0 until=$((SECONDS + PATIENCE))

	rm -f "$W/stop" "$W"/worker.*
	daemon_start --warm 2 --warm-python 0
	workers_start
	for ((i = 0; i < ROUNDS && SECONDS < until; i++)); do
		moment
		children=$(children_of "$DAEMON")
		kill -9 "$DAEMON"
		wait "$DAEMON_CALL" 2>/dev/null
		wait_for 5 all_gone "$children" || { alive=$((alive + 1)); diag "$(xargs -n 1 ps -o pid=,ppid=,stat=,wchan=,args= -p <<<"$children")"; }
		daemon_start --warm 2 --warm-python 0
	done
	workers_stop warden
	diag "$MODE, warden: $i kills"
	check "warden: every process of its ends with it" test "$alive" = 0
	daemon_stop
	check "warden: nothing is left" nothing_left
	forget_report '^signal 9' # that was us
}

# The caller holds the guest's control socket: were it for that alone, the sandbox would live on.
sleeping_caller()
{
	local children

	daemon_start --warm 1 --warm-python 0
	inside_start HELD "${BEST[@]}" --daemon -- sh -c 'echo ready; tail -f /dev/null'
	wait_for 5 grep -q ready "$HELD_OUT"
	kill -STOP "$HELD_PID"
	children=$(children_of "$DAEMON")
	kill -9 "$DAEMON"
	wait "$DAEMON_CALL" 2>/dev/null
	check "warden: a sandbox whose caller sleeps ends with it, too" wait_for 5 all_gone "$children"
	kill -CONT "$HELD_PID"
	inside_wait HELD
	exits 125 "warden: the caller is told"
	says '^pinfold: internal: the daemon ended' "warden: in words"
	forget_report '^signal 9' # that was us
	inside --no-daemon -- true
}

all_gone()
{
	local pid

	for pid in $1; do
		[ ! -d "/proc/$pid" ] || grep -q '^State:.[ZX]' "/proc/$pid/status" 2>/dev/null || return 1
	done
}

checks()
{
	RANDOM=${PINFOLD_TEST_SEED:-$((EPOCHSECONDS % 32768))}
	diag "seed $RANDOM"
	WORKER_PIDS=()
	mkfifo "$W/never"
	own "$W"
	daemon_mode
	fronts
	some_guests
	wardens
	sleeping_caller
}

run_checks
