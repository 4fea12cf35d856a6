#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: pidns
#
# kill(-1, 9) is the first thing that a broken script does. It may end what is inside, never more,
# and the result must say what happened. PID 1 cannot be killed or stopped from inside.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "B21 signals end at most the sandbox, and the status says so"

# ended STATUS CODE SIGNAL -- COMMAND...: how the document describes the end of a command.
ended()
{
	local want=$1

	shift
	inside_json --dir "$BIN" -- "$@"
	KIND=CRASH same "how it ended: $*" \
		"$(json '[d["status"], d["exit_code"], d["signal"]]')" "$want"
}

neighbour_pids()
{
	sandbox_pids NEIGHBOUR | sort -n | paste -sd ' '
}

attack()
{
	local before

	attack_build
	neighbour_start
	before=$(neighbour_pids)
	holds "the neighbour has processes" test "$(wc -w <<<"$before")" -ge 2
	# shellcheck disable=SC2206
	ARGS=(init $before "$NEIGHBOUR_PID" "$$")
	all_shut pid-namespace init-stopped init-deaf host-process
	ARGS=(all)
	all_shut pid-namespace init-stopped init-deaf
	same "who sent it is alive" "$(grep -c alive "$OUT")" 1
	ended '["exited", 0, null]' "$ATTACK" all
	ended '["signaled", null, 9]' "$ATTACK" group
	ended '["signaled", null, 9]' sh -c 'kill -9 $$'
	ended '["signaled", null, 15]' sh -c 'kill -15 $$'
	ended '["signaled", null, 11]' sh -c 'kill -11 $$'
	ended '["signaled", null, 9]' "$ATTACK" child
	ended '["exited", 7, null]' "$ATTACK" thread-exit
	inside -- sh -c 'kill -9 $$'
	ran 137
	same "the neighbour's processes" "$(neighbour_pids)" "$before"
	neighbour_stop
}

run_case
