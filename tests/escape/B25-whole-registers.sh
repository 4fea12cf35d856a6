#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seccomp, notify, ref-bwrap
#
# CVE-2019-10063: flatpak's filter compared all 64 bits of ioctl's request with TIOCSTI, the kernel
# only the lower half. The other way round, a pointer with an empty lower half is not no pointer.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "B25 the filter compares what the kernel uses of a register"

WORKS="unix tcp query "

attack()
{
	local name i doors=(clone-0 clone-1 unshare-0 unshare-1 sendto-high-address)

	for name in TIOCSTI TIOCLINUX TIOCSETD TIOCCONS SIOCBRADDBR AF_PACKET AF_VSOCK AF_ALG \
		SOCK_RAW NETLINK_NETFILTER MPTCP personality PR_SCHED_CORE PR_SET_MM; do
		for i in 0 1 2 3; do
			doors+=("$name-$i")
		done
	done
	attack_build
	all_shut "${doors[@]}"
	denied clone ioctl socket unshare
	same "verdicts on TIOCSTI, with each upper half" "$(count_of ioctl)" 4
	same "verdicts on two kinds of raw sockets" "$(count_of socket)" 8
	same "the address that the filter was shown" "$(reported network)" "sendto 198.51.100.5:9"
}

run_case
