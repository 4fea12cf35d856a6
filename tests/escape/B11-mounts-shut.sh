#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seccomp, notify, ref-bwrap
#
# Who can change mounts can take the masks away and put other things under the paths that programs
# trust. Each way of doing it, old and new, is refused by the filter and reported.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "B11 no mount can be made, moved, changed, taken away or listed"

attack()
{
	attack_build
	all_shut mount-tmpfs mount-bind mount-remount mount-proc mount-overlay mount-reached \
		umount-mask umount-proc-sys umount-reached pivot_root chroot chroot-reached fsopen \
		fsconfig-reached fsmount-reached fspick-reached open_tree-clone open_tree \
		open_tree-reached move_mount mount_setattr mount_setattr-reached open_tree_attr \
		statmount listmount statmount-reached
	denied mount umount2 pivot_root chroot fsopen fsconfig fsmount fspick open_tree move_mount \
		mount_setattr
	same "how often mount was refused" "$(count_of mount)" 6
}

run_case
