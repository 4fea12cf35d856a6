#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: give-up
#
# A process in uninterruptible sleep (a hung disk or FUSE server, a frozen v1 freezer) does not die
# of SIGKILL. Whoever waits for it waits for ever: pinfold gives up after a while, says so, keeps
# what it wrote down, and others run on. A later run finds the process gone and removes what is
# left.
. "$(dirname "$0")/../lib/escape.sh"

claim "H03 a process that cannot be killed does not keep pinfold"

FREEZER=/sys/fs/cgroup/freezer

freeze()
{
	mkdir "$GROUP" && echo "$1" >"$GROUP/cgroup.procs" && echo FROZEN >"$GROUP/freezer.state" &&
		wait_for 5 grep -q FROZEN "$GROUP/freezer.state"
}

thaw()
{
	[ -d "$GROUP" ] || return 0
	echo THAWED >"$GROUP/freezer.state"
	wait_for 5 rmdir "$GROUP" 2>/dev/null
}

ms()
{
	echo $((${EPOCHREALTIME/[.,]/} / 1000))
}

attack()
{
	local begin stuck_ms next_ms

	if ! [ -w "$FREEZER/cgroup.procs" ]; then
		skip_mode "only the freezer of cgroup v1 can make a process that cannot be killed"
		return
	fi
	GROUP=$FREEZER/escape-${T##*.}-$MODE
	trap 'thaw; case_end' EXIT
	INSIDE_GRACE_MS=20000
	INSIDE_SECONDS=90
	inside_start STUCK --json --time 1s --grace 10ms -- sh -c 'mkfifo /tmp/f; read x <>/tmp/f'
	guest_of STUCK
	begin=$(ms)
	# The command itself: mkfifo may be there as well, and end at this moment.
	holds "frozen" freeze "$(cat "/proc/$GUEST/task/"*/children | cut -d' ' -f1)"
	checked
	wait_for 20 grep -qE '^(exit|signal)' "$EVIDENCE/report" ||
		fell CRASH "pinfold waits for ever"
	stuck_ms=$(($(ms) - begin))
	begin=$(ms)
	inside -- true
	ran
	next_ms=$(($(ms) - begin))
	diag "$MODE: gave up after $stuck_ms ms; the next run took $next_ms ms"
	holds "gave up in time" [ "$stuck_ms" -le 60000 ]
	holds "others are not held up" [ "$next_ms" -le 40000 ]
	thaw
	inside_wait STUCK
	JSON=$STUCK_OUT
	same "it is said" "$(json '[d["status"] in a, d["sandbox"] in json.dumps(d["error"])]' \
		failed timeout)" '[true, true]'
	inside -- true
	ran
}

run_case
