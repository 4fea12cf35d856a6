#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: queue-young
# More runs than the daemon may have at once: they wait, in a queue with an end, and users take turns.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"

# Users whom nobody else is: a number is enough.
ONE=64211
TWO=64212

# hold NAME: a run that stays.
hold()
{
	inside_start "$1" "${BEST[@]}" --daemon --time 5m -- sh -c 'echo ready; tail -f /dev/null'
	wait_for 10 grep -q ready "$(out_of "$1")"
}

out_of()
{
	local name=${1}_OUT

	echo "${!name}"
}

# let_go NAME: ends it.
let_go()
{
	local pid=${1}_PID

	kill "${!pid}"
	inside_wait "$1"
}

# queued_are COUNT: requests that wait. Who has connected may not have asked yet.
queued_are()
{
	local wrap=("${CALL_WRAP[@]}")

	CALL_WRAP=()
	call_argv
	CALL_WRAP=("${wrap[@]}")
	"${CALL[@]}" top --once --json 2>/dev/null | grep -q "\"queued\":$1,"
}

waits()
{
	local asked waited

	daemon_start --warm 1 --warm-python 0 --max 1 --queue 2
	hold A
	asked=${EPOCHREALTIME/[.,]/}
	inside_start B --json "${BEST[@]}" --daemon --time 2s -- echo waited
	wait_for 10 queued_are 1
	inside_start C "${BEST[@]}" --daemon -- echo waited
	wait_for 10 queued_are 2
	inside "${BEST[@]}" --daemon -- true
	refuses busy "2 requests wait" "a full queue"
	says 'remedy: try again in [0-9]+ s' "and when to come again"
	inside_json "${BEST[@]}" --daemon -- true
	json_has 'd["error"]["code"] == "busy" and d["error"]["retry_after_ms"] >= 1000' "the same as data"
	pinfold doctor
	check "doctor tries this host, not the daemon" grep -qE '^ok +strict ' "$OUT"
	wait_for 5 eval '[ $((${EPOCHREALTIME/[.,]/} - asked)) -gt 2200000 ]' # longer than B may run
	check "those who wait say nothing" test ! -s "$B_OUT" -a ! -s "$C_OUT"
	kill -9 "$(front_pid)"
	waited=$(((${EPOCHREALTIME/[.,]/} - asked) / 1000))
	let_go A
	inside_wait B
	exits 0 "then the first of them runs, also without the front that took it"
	json_is waited 'd["stdout"]["text"].strip()' "and prints"
	json_has 'd["usage"]["wall_ms"] < int(a[0])' "the time that it waited does not count" "$waited"
	inside_wait C
	exits 0 "then the next"
	prints waited "which prints, too"
	daemon_stop
}

leaves()
{
	daemon_start --warm 1 --warm-python 0 --max 1 --queue 1
	hold A
	inside_start B "${BEST[@]}" --daemon -- echo never
	wait_for 10 queued_are 1
	kill -INT "$B_PID"
	inside_wait B
	exits 130 "Ctrl-C while it waits"
	prints "" "nothing of it ran"
	check "its place is free" wait_for 5 queued_are 0
	inside_start C "${BEST[@]}" --daemon -- echo never
	wait_for 10 queued_are 1
	kill -KILL "$C_PID"
	inside_wait C
	forget_report '^signal 9' # that was us
	wait_for 5 queued_are 0
	inside_start D "${BEST[@]}" --daemon -- echo runs
	wait_for 10 queued_are 1
	check "another may wait there" test ! -s "$D_ERR" -a -d "/proc/$D_PID"
	let_go A
	inside_wait D
	prints runs "and runs"
	daemon_stop
}

ends()
{
	daemon_start --warm 1 --warm-python 0 --max 1 --queue 8
	hold A
	all_at_once 8 -- true
	wait_for 10 queued_are 8
	inside "${BEST[@]}" --daemon -- true
	refuses busy "8 requests wait" "full with eight"
	kill "$DAEMON"
	crowd_wait
	check "SIGTERM answers all of them" test "${CROWD_STATUS[*]}" = "125 125 125 125 125 125 125 125"
	check "and says why" test "$(cat "$EVIDENCE"/crowd.?.err | grep -c 'busy: the daemon is ending')" = 8
	let_go A
	daemon_stop
	exits 0 "it ends"
	check "nothing is left" nothing_left
}

# Far more than it can do: each is run or told that it is busy, and afterwards all is as before.
overload()
{
	local status good=0 told=0 i=0

	daemon_start --warm 2 --warm-python 0 --max 2 --queue 6 --warm-memory 2M
	all_at_once 60 -- echo done
	check "there are never more sandboxes than allowed" not wait_for 1 waiting_beyond 6
	crowd_wait
	for status in "${CROWD_STATUS[@]}"; do
		[ "$status" = 0 ] && [ "$(cat "$EVIDENCE/crowd.$i.out")" = done ] && good=$((good + 1))
		[ "$status" = 125 ] && grep -q '^pinfold: busy: ' "$EVIDENCE/crowd.$i.err" && told=$((told + 1))
		i=$((i + 1))
	done
	check "all are run or told: $good, $told" test $((good + told)) = 60
	check "as many as fit are run" test $good -ge 8
	inside "${BEST[@]}" --daemon -- echo again
	prints again "and then as before"
	daemon_stop
	check "nothing is left after it" nothing_left
}

# In an overload who came last is served first: who came first has nearly waited too long.
youngest_first()
{
	local i

	# That no run has ended yet keeps everybody's patience at half a minute.
	daemon_start --warm 1 --warm-python 0 --max 1 --queue 3
	hold A
	for i in 1 2 3; do
		inside_start "B$i" "${BEST[@]}" --daemon -- sh -c "echo $i \$(date +%s%N)"
		wait_for 10 queued_are $i
	done
	inside "${BEST[@]}" --daemon -- true
	exits 125 "one is refused"
	/usr/bin/python3 -I -c "import time; time.sleep(0.2)"
	inside "${BEST[@]}" --daemon -- true
	exits 125 "and one later than a crowd comes: that is an overload"
	let_go A
	: >"$W/order"
	for i in B1 B2 B3; do
		inside_wait "$i"
		exits 0 "$i is served"
		cat "$OUT" >>"$W/order"
	done
	check "the last first" test "$(sort -k2n "$W/order" | cut -d' ' -f1 | paste -sd ' ')" = "3 2 1"
	daemon_stop
}

not()
{
	! "$@"
}

# --- users of root's daemon ----------------------------------------------------------------------

root_daemon()
{
	daemon_start --warm 1 --warm-python 0 "$@"
	chmod 0711 "$M/run"
	chmod 0666 "$M/run/daemon.sock"
}

# by UID WHAT ARG...: what is called is called by this user.
by()
{
	call_by "$1"
	shift
	"$@"
	CALL_WRAP=()
}

takes_turns()
{
	local i

	root_daemon --max 1
	hold A
	for i in 1 2 3 4 5 6; do
		by $ONE inside_start "ONE$i" --daemon -- sh -c 'echo one $(date +%s%N)'
		wait_for 10 queued_are $i
	done
	for i in 1 2; do
		by $TWO inside_start "TWO$i" --daemon -- sh -c 'echo two $(date +%s%N)'
		wait_for 10 queued_are $((6 + i))
	done
	let_go A
	: >"$W/order"
	for i in ONE1 ONE2 ONE3 ONE4 ONE5 ONE6 TWO1 TWO2; do
		inside_wait "$i"
		cat "$OUT" >>"$W/order"
	done
	check "one after the other, in turn" test \
		"$(sort -k2n "$W/order" | cut -d' ' -f1 | paste -sd ' ')" = "one two one two one one one one"
	daemon_stop
}

leaves_room()
{
	root_daemon --max 3
	by $TWO inside --daemon -- true
	exits 0 "another user is there"
	by $ONE hold A
	by $ONE hold B
	by $ONE inside_start C --daemon -- echo last
	wait_for 10 queued_are 1
	by $TWO inside --daemon -- echo room
	prints room "who has all places but one does not get the last"
	check "he waits" test ! -s "$C_OUT" -a -d "/proc/$C_PID"
	let_go A
	inside_wait C
	prints last "until he has fewer"
	let_go B
	daemon_stop
}

shares_queue()
{
	local i refused=0

	root_daemon --max 1 --queue 4
	hold A
	for i in 1 2 3 4; do
		by $ONE inside_start "ONE$i" --daemon -- echo one
		wait_for 10 queued_are $i
	done
	by $ONE inside --daemon -- true
	refuses busy "4 requests wait" "one user fills the queue"
	by $TWO inside_start TWO1 --daemon -- echo two
	inside_wait ONE4
	refuses busy "requests wait" "another takes the place of his last"
	let_go A
	inside_wait TWO1
	prints two "and runs"
	for i in 1 2 3; do
		inside_wait "ONE$i"
		[ "$RC" = 0 ] || refused=$((refused + 1))
	done
	check "so do the others" test $refused = 0
	daemon_stop
}

# Half a minute is a promise.
too_long()
{
	local begin=$SECONDS

	daemon_start --warm 0 --warm-python 0 --max 1
	hold A
	inside "${BEST[@]}" --daemon -- true
	refuses busy "requests wait" "after half a minute"
	check "which it was" test $((SECONDS - begin)) -ge 29 -a $((SECONDS - begin)) -le 80
	let_go A
	daemon_stop
}

checks()
{
	daemon_mode
	waits
	leaves
	ends
	youngest_first
	overload
	[ "$MODE" = R ] || return
	takes_turns
	leaves_room
	shares_queue
	too_long
	check "nothing is left in the end" nothing_left
}

run_checks
