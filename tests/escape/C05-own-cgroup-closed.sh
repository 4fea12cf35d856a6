#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: cgroupns, cgroup
#
# Limits that the limited can lift are none. Inside no control group can be seen, and its path on
# the host is "/"; outside the command is in the group with the limits, before the attack and
# after.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "C05 nothing inside can see, leave or change its control groups"

# limits_of PID: what holds this process, as the host has it: memory, processes, who is told.
limits_of()
{
	local line path dir

	while IFS= read -r line; do
		path=${line#*:*:}
		for dir in /sys/fs/cgroup/{memory,pids,unified,}"$path"; do
			case $line in
			*:memory:* | *:pids:* | 0::*) grep -sH '' "$dir"/memory.limit_in_bytes \
				"$dir"/memory.max "$dir"/pids.max "$dir"/notify_on_release ;;
			esac
		done
	done <"/proc/$1/cgroup" | grep sbx | sed 's,^.*/,,' | LC_ALL=C sort -u | paste -sd ' '
}

attack()
{
	local before pid

	attack_build
	all_shut visible child-group writable own-path path-of-init
	# An ordinary user has no groups to give.
	[ "$MODE" = R ] || return 0
	inside_start VICTIM --memory 64M --pids 20 --dir "$BIN" -- \
		sh -c '"$1"; exec tail -f /dev/null' sh "$ATTACK"
	wait_for 5 grep -q tried "$VICTIM_OUT" || fell CRASH "the victim did not start"
	pid=$(for pid in $(sandbox_pids VICTIM); do
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" = tail ] && echo "$pid"
	done)
	before=$(limits_of "$pid")
	holds "memory and processes are limited by groups of this sandbox ($before)" \
		grep -qE '^memory[a-z._]*:67108864 .*pids.max:2[0-9]' <<<"$before"
	absent "the kernel is told to run an agent" notify_on_release:1 <(echo "$before")
	kill "$VICTIM_LAUNCH"
	inside_wait VICTIM
}

run_case
