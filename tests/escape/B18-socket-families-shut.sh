#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seccomp, ref-bwrap
#
# socket() loads kernel modules for whoever asks; vsock even reaches the hypervisor past every
# network namespace. Only the families that programs use exist.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "B18 no socket but TCP, UDP, Unix and route"

WORKS="pair tcp tcp6 udp udp6 unix route "

attack()
{
	attack_build
	all_shut packet-raw packet-dgram packet-old icmp-raw icmpv6-raw ip-raw vsock-stream \
		vsock-dgram alg xdp key tipc can sctp sctp-many mptcp mptcp6 udplite dccp \
		smc-by-protocol rds bluetooth netlink-audit netlink-netfilter netlink-xfrm \
		netlink-uevent netlink-crypto netlink-generic netlink-diag any-family any-netlink \
		pair-tipc pair-inet
	denied socket
}

run_case
