#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: time, ref-bwrap
#
# A time limit ends what sleeps, what ignores SIGTERM, what is stopped and hears nothing, and what
# is blocked on a reader that does not read: not before the deadline, and soon after it and the
# grace. Promised are 50 ms; a loaded machine gets more here, and the figures are printed.
. "$(dirname "$0")/../lib/escape.sh"

claim "H06 a time limit ends everything on time"

TIME_MS=100
GRACE_MS=150
SLACK_MS=40000 # of a busy machine; who is not ended stays for ever

# How long pinfold runs, from its start to its end, measured around the harness's launcher.
timed()
{
	local begin=${EPOCHREALTIME/[.,]/}

	"$@"
	TOOK_MS=$(((${EPOCHREALTIME/[.,]/} - begin) / 1000))
}

# deadline WHAT LATEST_MS [OPTION...] -- COMMAND...
deadline()
{
	local what=$1 latest=$2

	shift 2
	timed inside --time ${TIME_MS}ms --grace ${GRACE_MS}ms "$@"
	ran 124
	diag "$MODE, $what: $TOOK_MS ms, promised $((latest + 50)) ms"
	holds "$what: not before the deadline ($TOOK_MS ms)" [ "$TOOK_MS" -ge "$TIME_MS" ]
	holds "$what: ended at $latest ms ($TOOK_MS ms)" [ "$TOOK_MS" -le "$((latest + SLACK_MS))" ]
}

# A reader that is there and never reads. Sets TOOK_MS for the sandbox, ALL_MS for pinfold itself.
unread()
{
	local pipe=$W/pipe begin=${EPOCHREALTIME/[.,]/}

	evidence_files run "$@"
	mkfifo "$pipe"
	exec {PIPE_FD}<>"$pipe"
	launch_argv -p "$EVIDENCE/UNREAD.pid"
	"${LAUNCH[@]}" run "$@" >&"$PIPE_FD" 2>"$ERR" {LIVE_FD}>&- &
	UNREAD_LAUNCH=$!
	BACKGROUND+=($!)
	wait_for 5 test -s "$EVIDENCE/UNREAD.pid"
	UNREAD_PID=$(cat "$EVIDENCE/UNREAD.pid")
	# On a busy machine it may be over before it is seen.
	wait_for 5 eval '[ -n "$(sandbox_pids UNREAD)" ] || ! kill -0 "$UNREAD_LAUNCH" 2>/dev/null'
	wait_for 10 eval '[ -z "$(sandbox_pids UNREAD)" ]'
	TOOK_MS=$(((${EPOCHREALTIME/[.,]/} - begin) / 1000))
	inside_wait UNREAD
	ALL_MS=$(((${EPOCHREALTIME/[.,]/} - begin) / 1000))
	exec {PIPE_FD}>&-
	rm -f "$pipe" "$EVIDENCE/UNREAD.pid"
}

attack()
{
	local forever='mkfifo /tmp/f; read x <>/tmp/f'

	INSIDE_SECONDS=60
	deadline "sleeping" $TIME_MS -- sh -c "$forever"
	deadline "deaf to SIGTERM" $((TIME_MS + GRACE_MS)) -- sh -c "trap '' TERM; $forever"
	deadline "stopped" $TIME_MS -- sh -c 'kill -STOP $$'
	deadline "stopped again and again" $((TIME_MS + GRACE_MS)) -- \
		python3 -c 'import os, signal
signal.signal(signal.SIGTERM, lambda *a: os.kill(os.getpid(), signal.SIGSTOP))
while True: os.kill(os.getpid(), signal.SIGSTOP)'
	deadline "busy" $((TIME_MS + GRACE_MS)) -- sh -c "trap '' TERM; while :; do :; done"
	deadline "a crowd with a small share" $((TIME_MS + GRACE_MS)) --cpus 0.1 -- sh -c "trap '' TERM
		for i in 1 2 3 4 5 6 7 8 9 0; do (while :; do :; done) & done; wait"
	deadline "a terminal" $((TIME_MS + GRACE_MS)) --pty -- sh -c "trap '' TERM HUP; $forever"
	deadline "as a document" $TIME_MS --json -- sh -c "$forever"

	# Blocked on a full pipe: the sandbox ends on time, and pinfold does not wait for ever for a
	# reader that takes nothing.
	unread --time ${TIME_MS}ms --grace ${GRACE_MS}ms -- sh -c 'trap "" TERM; exec yes'
	ran 124
	diag "$MODE, unread output: sandbox $TOOK_MS ms, pinfold $ALL_MS ms"
	holds "unread output: the sandbox ended ($TOOK_MS ms)" \
		[ "$TOOK_MS" -le $((TIME_MS + GRACE_MS + SLACK_MS)) ]
	holds "unread output: pinfold ended ($ALL_MS ms)" \
		[ "$ALL_MS" -le $((TIME_MS + GRACE_MS + 2000 + SLACK_MS)) ]
}

run_case
