#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: rlimits, seccomp
#
# A real-time process starves the host, a low score makes the kernel kill somebody else's first.
# The kernel refuses what the limits do not give, so the limits must not be the launcher's: here he
# has generous ones, as audio users do.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "B20 nothing inside gets more of the machine than its share"

WORKS="nice-down io-idle "

# prlimit with what the caller may raise.
generous()
{
	local limit

	INSIDE_OUTER=(prlimit)
	for limit in rtprio=99:99 nice=40:40 memlock=unlimited:unlimited core=unlimited:unlimited \
		msgqueue=unlimited:unlimited sigpending=unlimited:unlimited; do
		prlimit "--$limit" true 2>/dev/null && INSIDE_OUTER+=("--$limit")
	done
	[ ${#INSIDE_OUTER[@]} -gt 1 ] || INSIDE_OUTER=()
}

attack()
{
	attack_build
	# Without CAP_SYS_RESOURCE nobody can forbid a process to go back to its launcher's score.
	ARGS=("$(cat /proc/self/oom_score_adj)")
	generous
	INSIDE_WORLD=1
	all_shut fifo rr fifo-forked deadline attr-nice nice nice-back-and-beyond io-realtime \
		core-scheduling oom-score oom-score-least limit-core limit-nofile limit-nproc \
		limit-memlock limit-msgqueue limit-sigpending limit-rtprio limit-nice
	INSIDE_OUTER=() INSIDE_WORLD=
	inside -- cat /proc/self/oom_score_adj
	ran
	same "the sandbox dies before the rest of the host does" "$(cat "$OUT")" 500
}

run_case
