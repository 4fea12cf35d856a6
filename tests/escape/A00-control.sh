#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: pidns
#
# A sandbox that runs nothing holds everything: a case that passes because nothing started proves
# nothing. So it is the control of the red runs, too: what falls as CRASH here does not work.
. "$(dirname "$0")/../lib/escape.sh"

claim "A00 an ordinary program runs, and the canaries are where they should be"

attack()
{
	local KIND=CRASH

	inside -- sh -c 'echo "$((6 * 7))"; id -u; cat /proc/self/status >/dev/null && echo proc'
	ran
	same "output" "$(tr '\n' ' ' <"$OUT")" "42 1000 proc "
	inside -- sh -c 'exit 7'
	ran 7
	neighbour_start
	inside -- sh -c 'cat /home/user/canary /tmp/canary 2>/dev/null; ps -ef 2>/dev/null'
	same "a second sandbox runs beside" "$(grep -c ready "$EVIDENCE/neighbour.log")" 1
	neighbour_stop
	[ "$EUID" = 0 ] || return
	same "canary of root" "$(cat "$CANARY_ROOT_FILE")" "$CANARY_ROOT_VALUE"
	same "canary of all" "$(cat "$CANARY_SRV_FILE")" "$CANARY_SRV_VALUE"
	same "mode of the canaries" "$(stat -c %a "$CANARY_ROOT_FILE" "$CANARY_SRV_FILE" \
		"$CANARY_HOME_FILE" | tr '\n' ' ')" "600 644 600 "
	same "one canary is the user's" "$(stat -c %U "$CANARY_HOME_FILE")" "$TEST_USER"
}

run_case
