#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seal, seccomp, landlock, nnp, caps, dumpable, pidns, netns, ipcns, utsns, cgroupns, timens,
# red: cgroup, rlimits, ids, pivot, nosuid, nodev, proc-ro, env, session, stdio, usr-overlay,
# red: dir-overlay
#
# Everything /proc says of each process of one sandbox against what is written down: PID 1, the
# command, a child of it. One line more, less or other fails. After a change that is meant, look at
# the difference with suspicion, then: PINFOLD_POSTURE_WRITE=1 tests/escape/posture.sh
. "$(dirname "$0")/../lib/escape.sh"

claim "posture of every process of a sandbox is as written down"

both_are_tail()
{
	[ "$(sandbox_pids SLEEPER | sed 's|.*|/proc/&/comm|' | xargs cat | grep -c tail)" = 2 ]
}

# Pinfold itself has a child for a moment, who writes the ledger to disk: it is outside, and soon gone.
are_inside()
{
	local pid

	while read -r pid; do
		grep -qE '^NSpid:.[0-9]+.[0-9]+' "/proc/$pid/status" 2>/dev/null && echo "$pid"
	done
}

attack()
{
	local pids expected

	if [ "$EUID" != 0 ]; then
		skip_mode "only root may look at processes that are not dumpable"
		return
	fi
	expected=$(dirname "$CASE_FILE")/posture.root.expected
	[ "$MODE" = U ] && expected=$(dirname "$CASE_FILE")/posture.user.expected
	inside_start SLEEPER --dir "$W" -- sh -c 'tail -f /dev/null & echo ready; exec tail -f /dev/null'
	wait_for 10 grep -q ready "$SLEEPER_OUT" || fell CRASH "no sandbox: $(head -c 300 "$ERR")"
	# The command has become tail when there are two of them.
	wait_for 5 both_are_tail
	mapfile -t pids < <(sandbox_pids SLEEPER | are_inside)
	/usr/bin/python3 -I "$LIB_DIR/posture.py" "$USER_ID" "$(id -g "$USER_NAME")" "${pids[@]}" \
		>"$EVIDENCE/posture" 2>"$EVIDENCE/posture.err" ||
		fell CRASH "cannot read it: $(tail -1 "$EVIDENCE/posture.err")"
	[ -n "${PINFOLD_POSTURE_WRITE:-}" ] && cp "$EVIDENCE/posture" "$expected"
	same "lines that differ" "$(diff -U2 "$expected" "$EVIDENCE/posture" | tail -n +3)" ""
	sandbox_end SLEEPER
}

run_case
