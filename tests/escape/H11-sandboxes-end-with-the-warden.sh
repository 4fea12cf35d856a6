#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: leash
# daemon: none: it has one of its own
#
# In the daemon it is the warden who holds the limits of a sandbox. A run's own control socket is
# its caller's: one who keeps it open, or is stopped, would keep a sandbox that nobody limits any
# more. So the kernel itself ends each guest with the warden, whatever the caller does.
. "$(dirname "$0")/../lib/escape.sh"

claim "H11 no sandbox of a daemon outlives its warden"

daemon_start()
{
	evidence_files serve
	DAEMON_LOG=$ERR
	launch_argv -p "$EVIDENCE/daemon.pid"
	"${LAUNCH[@]}" serve --warm 1 --warm-python 0 >"$OUT" 2>"$ERR" {LIVE_FD}>&- &
	DAEMON_LAUNCH=$!
	BACKGROUND+=("$!")
	holds "the daemon starts" wait_for 10 grep -qs 'serving on' "$DAEMON_LOG"
	wait_for 10 test -s "$EVIDENCE/daemon.pid" # the launcher may be late
	DAEMON_PID=$(cat "$EVIDENCE/daemon.pid")
}

all_gone()
{
	local pid

	for pid in "$@"; do
		[ ! -d "/proc/$pid" ] || grep -q '^State:.[ZX]' "/proc/$pid/status" 2>/dev/null || return 1
	done
}

attack()
{
	local all

	EXPECT_SIGNAL=1
	daemon_start
	inside_start CALLER --daemon --limits best-effort -- sh -c 'echo ready; exec tail -f /dev/null'
	wait_for 10 grep -q ready "$CALLER_OUT" || fell CRASH "no run: $(head -c 300 "$ERR")"
	mapfile -t all < <(sandbox_pids DAEMON)
	holds "front, one that waits, one that runs and its command" test ${#all[@]} -ge 4
	kill -STOP "$CALLER_PID"
	kill -KILL "$DAEMON_PID"
	holds "all end with the warden" wait_for 10 all_gone "${all[@]}"
	kill -CONT "$CALLER_PID"
	inside_wait CALLER
	same "the caller is told" "$RC" 125
	wait "$DAEMON_LAUNCH"
	# Removes what was left.
	inside --limits best-effort -- true
	ran
}

run_case
