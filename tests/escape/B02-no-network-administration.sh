#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seccomp, caps, ref-bwrap
#
# User namespace, network namespace, nf_tables: the way that most published kernel exploits take.
# The namespaces are refused, and in the network that the sandbox has nothing can be administered.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "B02 no packet filter, traffic control or interface can be set up inside"

attack()
{
	attack_build
	all_shut userns+netns nft-table tc-qdisc link-dummy address iptables ip6tables lo-down
	denied unshare
}

run_case
