#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seccomp, notify, ref-bwrap
#
# The "Shocker" escape of 2014: with a handle for inode 2 the root of the filesystem opens,
# whatever part of it is mounted. Kernels since 6.13 hand this out more freely than before.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "B10 no file can be opened by handle"

attack()
{
	local path doors=(reached)

	for path in / /usr /etc/ssl /tmp /work /proc /dev /dev/pts /dev/shm; do
		doors+=("make-$path" "open-$path")
	done
	attack_build
	all_shut "${doors[@]}"
	denied open_by_handle_at
}

run_case
