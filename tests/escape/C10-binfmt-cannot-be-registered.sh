#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seccomp, notify, ref-bwrap
#
# A handler that is registered from inside runs on the host when somebody there opens such a file.
# With the flag C it even runs with the rights of a setuid file.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "C10 no format of programs can be registered"

handlers()
{
	find /proc/sys/fs/binfmt_misc -type f 2>/dev/null | LC_ALL=C sort
}

attack()
{
	local before

	attack_build
	before=$(handlers)
	all_shut proc-register proc-status userns mount mounted-register mounted-status mount-over
	denied mount unshare
	KIND=WRITE same "the host's handlers" "$(handlers)" "$before"
}

run_case
