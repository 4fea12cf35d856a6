#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seccomp, notify, ref-bwrap
#
# CVE-2022-0492: release_agent of a cgroup v1 hierarchy is a program that the kernel runs as root
# of the host, and it lacked a check of who sets it. Here it already ends at unshare.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "B23 no cgroup hierarchy can be mounted and no release_agent be set"

attack()
{
	attack_build
	all_shut unshare mount-rdma mount-memory mount-named mount-v2 mount-nothing release_agent
	denied unshare mount
	inside -- unshare -UrC true
	holds "unshare -UrC fails" test "$RC" != 0
	holds "it is unshare that fails" grep -q 'unshare failed' "$ERR"
}

run_case
