#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seccomp, notify, ref-bwrap
#
# Stopping the kernel in the middle of a copy from user memory makes races easy to win; the flag
# for user-mode faults is open to everybody by default.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "B06 userfaultfd is shut"

attack()
{
	attack_build
	all_shut user-mode-only full reached device
	denied userfaultfd
}

run_case
