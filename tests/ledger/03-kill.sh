#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kill -9 of pinfold at random moments: whatever it told of is in the ledger, which is whole.
# PINFOLD_TEST_KILLS: how many; PINFOLD_TEST_SEED: which.
. "$(dirname "$0")/../lib/cli.sh"

KILLS=${PINFOLD_TEST_KILLS:-30}

checks()
{
	inside -- true
	call_files kill.py
	call_argv
	/usr/bin/python3 -I "$TEST_DIR/kill.py" "$KILLS" "${PINFOLD_TEST_SEED:-5}" "$M/home/ledger/events" \
		"${CALL[@]}" >"$OUT" 2>"$ERR" {LIVE_FD}>&-
	RC=$?
	forget_report '^signal 9' # that was us
	exits 0 "after each of $KILLS kills what was told is on record"
	inside -- true
	pinfold verify
	exits 0 "and the ledger is whole"
}

run_checks
