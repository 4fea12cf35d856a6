#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seccomp, notify, ref-bwrap
#
# A user namespace hands out every capability over kernel code that was never meant for ordinary
# users; most kernel exploits of the last years begin with one. clone3 passes its flags in memory,
# where no filter sees them, so it must not exist at all; EPERM instead broke threads in glibc.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "B01 nothing inside can make a namespace, and threads still start"

WORKS="thread spawn unshare-files "

attack()
{
	local kind doors=(unshare-time unshare-user+time clone3-time clone3-plain)

	for kind in user mnt pid net ipc uts cgroup; do
		doors+=("unshare-$kind" "unshare-user+$kind" "clone-$kind" "clone3-$kind")
	done
	attack_build
	all_shut "${doors[@]}"
	denied unshare clone
}

run_case
