#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: cgroup, rlimits
#
# A fork bomb and a thread bomb stop at the limit of processes, the result says so, the bomb is gone
# in a moment when its time is over, and another sandbox beside it works on.
. "$(dirname "$0")/../lib/escape.sh"

claim "G03 bombs of processes and threads are bounded and ended"

PIDS=16

bounded()
{
	local kind=$1

	inside_json --pids $PIDS --dir "$BIN" -- "$ATTACK" "$kind" 300
	ran
	diag "$MODE, $kind: $(cat "$OUT")"
	same "$kind: alive at once, of $PIDS" "$(cat "$OUT")" "had $PIDS EAGAIN"
	same "$kind: the limit is told" "$(json 'd["limit"]["kind"], d["limit"]["value"]')" \
		"[\"pids\", $PIDS]"
	same "$kind: the count fits" \
		"$(json '1 < d["usage"]["processes_peak"] <= int(a[0])' $PIDS)" true
}

attack()
{
	local held=cgroup begin took

	[ "$MODE" = U ] && held=rlimit
	attack_build G03-process-bombs.c -pthread
	bounded processes
	bounded threads
	same "what holds the limit" "$(json 'd["limits"]["pids"]["held_by"]')" "$held"

	# The classic, and a neighbour while it goes on.
	attack_build H05-fork-while-killed.c
	inside_start BOMB --pids 64 --time 1500ms --grace 1ms --dir "$BIN" -- "$ATTACK" 80
	begin=${EPOCHREALTIME/[.,]/}
	inside -- sh -c 'echo works'
	ran
	took=$(((${EPOCHREALTIME/[.,]/} - begin) / 1000))
	same "a neighbour" "$(cat "$OUT")" works
	inside_wait BOMB
	same "the bomb's time was over" "$RC" 124
	diag "$MODE: a run beside a bomb took $took ms; the bomb ended $((\
		(${EPOCHREALTIME/[.,]/} - begin) / 1000 - 1500)) ms after its time limit, about"
	holds "a neighbour is not held up ($took ms)" [ "$took" -le 40000 ]
	holds "the bomb is ended in a moment" [ $(((${EPOCHREALTIME/[.,]/} - begin) / 1000)) -le 50000 ]
}

run_case
