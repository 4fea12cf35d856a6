#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seccomp, dumpable, pidns, ref-bwrap
#
# Memory, descriptors and limits of another process are as good as its rights. PID 1 is ours and
# holds the socket to the host side; the processes of the neighbour's sandbox belong to somebody
# else.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "B08 neither our init nor a process of another sandbox can be reached"

attack()
{
	attack_build
	neighbour_start
	mapfile -t ARGS < <(sandbox_pids NEIGHBOUR)
	ARGS+=("$NEIGHBOUR_PID" "$$")
	holds "the neighbour has processes" test ${#ARGS[@]} -ge 4
	all_shut attach-1 seize-1 vm_readv-1 vm_writev-1 descriptors-1 mem-1 kcmp-1 getfd-1 \
		move_pages-1 migrate_pages-1 madvise-1 prlimit-1 kcmp-own getfd-own move_pages-own \
		mrelease-own host-process
	neighbour_stop
	denied
}

run_case
