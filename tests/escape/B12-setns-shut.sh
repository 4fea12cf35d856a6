#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seccomp, notify, ref-bwrap
#
# A descriptor of a namespace of the host, however it was come by, is a way out if it can be
# entered.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "B12 no namespace can be entered, and none leads to the host's"

attack()
{
	local kind doors=(mnt-next mnt-previous enter-init init-mnt init-user listns reached)

	for kind in user mnt pid net ipc uts cgroup time; do
		doors+=("open-init-$kind" "enter-$kind" "parent-$kind")
	done
	attack_build
	all_shut "${doors[@]}"
	denied setns
}

run_case
