#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: proc-ro, ref-bwrap
#
# core_pattern and modprobe name programs that the kernel runs as root of the host; sysrq-trigger
# reboots it. /proc/sys looks at the user id, not at capabilities, and some of it belongs to the
# sandbox's own namespaces, where its root is root. A10 writes every value back; this one names the
# doors and looks at the rest of /proc as well.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "C01 nothing in /proc outside of one's own processes can be written"

attack()
{
	local before

	attack_build
	before=$(cat /proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe \
		/proc/sys/net/ipv4/ip_forward 2>/dev/null)
	KIND=WRITE all_shut sysrq-trigger core_pattern modprobe drop_caches ns_last_pid ip_forward \
		ping_group_range hostname shmmax mqueue max_user_namespaces kcore mtrr irq \
		pressure anything
	KIND=WRITE same "values of the host" "$(cat /proc/sys/kernel/core_pattern \
		/proc/sys/kernel/modprobe /proc/sys/net/ipv4/ip_forward 2>/dev/null)" "$before"
}

run_case
