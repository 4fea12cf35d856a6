#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kill -9 of pinfold at random moments: whatever it told of is in the ledger, which is whole; also when runs
# in a daemon and runs without it write at the same time, and the daemon is killed, too.
# PINFOLD_TEST_KILLS: how many; PINFOLD_TEST_SEED: which.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"

KILLS=${PINFOLD_TEST_KILLS:-30}

# kills COUNT SEED DAEMON
kills()
{
	call_files kill.py "$@"
	call_argv
	/usr/bin/python3 -I "$TEST_DIR/kill.py" "$1" "$2" "$M/home/ledger/events" "$3" \
		"${CALL[@]}" >"$OUT" 2>"$ERR" {LIVE_FD}>&-
	RC=$?
	forget_report '^signal 9' # that was us
	sed "s/^# /# $MODE, /" "$OUT"
}

together()
{
	local round

	for round in 1 2; do
		daemon_start --warm 1 --warm-python 0
		kills $((KILLS / 5)) "$((${PINFOLD_TEST_SEED:-5} + round))" "$DAEMON"
		exits 0 "with a daemon, which is killed, and runs beside it ($round)"
		wait "$DAEMON_CALL" 2>/dev/null
		forget_report '^signal 9'
	done
	inside -- true
	pinfold verify
	exits 0 "and it is one chain, and whole"
	check "no other has a run" test -z "$(find "$M/home" -name 'events*' ! -path "$M/home/ledger/*" \
		-exec grep -l '"kind":"run"' {} +)"
}

checks()
{
	inside -- true
	kills "$KILLS" "${PINFOLD_TEST_SEED:-5}" 0
	exits 0 "after each of $KILLS kills what was told is on record"
	inside -- true
	pinfold verify
	exits 0 "and the ledger is whole"
	together
}

run_checks
