/* SPDX-License-Identifier: Apache-2.0 */
/* Each socket family is a part of the kernel. Tries those that matter by name, then all of them. */
#include "B-doors.h"
#include <linux/if_ether.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/socket.h>

static const struct {
	const char *name;
	int family, type, protocol;
} tries[] = {
	{"packet-raw", AF_PACKET, SOCK_RAW, 0x0300},
	{"packet-dgram", AF_PACKET, SOCK_DGRAM, 0x0300},
	{"packet-old", AF_INET, SOCK_PACKET, 0x0300},
	{"icmp-raw", AF_INET, SOCK_RAW, IPPROTO_ICMP},
	{"icmpv6-raw", AF_INET6, SOCK_RAW, IPPROTO_ICMPV6},
	{"ip-raw", AF_INET, SOCK_RAW, IPPROTO_RAW},
	{"vsock-stream", AF_VSOCK, SOCK_STREAM, 0},
	{"vsock-dgram", AF_VSOCK, SOCK_DGRAM, 0},
	{"alg", AF_ALG, SOCK_SEQPACKET, 0},
	{"xdp", AF_XDP, SOCK_RAW, 0},
	{"key", AF_KEY, SOCK_RAW, 2},
	{"tipc", AF_TIPC, SOCK_STREAM, 0},
	{"can", AF_CAN, SOCK_RAW, 1},
	{"sctp", AF_INET, SOCK_STREAM, IPPROTO_SCTP},
	{"sctp-many", AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP},
	{"mptcp", AF_INET, SOCK_STREAM, 262 /* IPPROTO_MPTCP */},
	{"mptcp6", AF_INET6, SOCK_STREAM, 262},
	{"udplite", AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE},
	{"dccp", AF_INET, SOCK_DCCP, IPPROTO_DCCP},
	{"smc-by-protocol", AF_INET, SOCK_STREAM, 256},
	{"rds", AF_RDS, SOCK_SEQPACKET, 0},
	{"bluetooth", AF_BLUETOOTH, SOCK_RAW, 1},
	{"netlink-audit", AF_NETLINK, SOCK_RAW, NETLINK_AUDIT},
	{"netlink-netfilter", AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER},
	{"netlink-xfrm", AF_NETLINK, SOCK_RAW, NETLINK_XFRM},
	{"netlink-uevent", AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT},
	{"netlink-crypto", AF_NETLINK, SOCK_RAW, NETLINK_CRYPTO},
	{"netlink-generic", AF_NETLINK, SOCK_RAW, NETLINK_GENERIC},
	{"netlink-diag", AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG},
};

/* Anything else would come from the family's own code. */
static int is_shut(int fd)
{
	return fd < 0 && (errno == EPERM || errno == EAFNOSUPPORT || errno == EPROTONOSUPPORT ||
			  errno == ESOCKTNOSUPPORT);
}

static void try_all_families(void)
{
	for (int family = 0; family < 64; family++)
		for (int type = 1; type <= 10; type++) {
			int known = family == AF_UNIX || family == AF_INET || family == AF_INET6 ||
				    family == AF_NETLINK;
			int fd = known ? -1 : socket(family, type, 0);
			char text[64];

			if (known || is_shut(fd))
				continue;
			snprintf(text, sizeof(text), "%d type %d %s", family, type, answer(fd));
			door_if("any-family", 1, text);
		}
	door_if("any-family", 0, "");
}

static void try_all_netlink(void)
{
	for (int protocol = 1; protocol < 40; protocol++) {
		int fd = socket(AF_NETLINK, SOCK_RAW, protocol);
		char text[64];

		if (is_shut(fd))
			continue;
		snprintf(text, sizeof(text), "%d %s", protocol, answer(fd));
		door_if("any-netlink", 1, text);
	}
	door_if("any-netlink", 0, "");
}

static void try_pairs(void)
{
	int pair[2];

	door_if("pair-tipc", !is_shut(socketpair(AF_TIPC, SOCK_STREAM, 0, pair)), answer(-1));
	door_if("pair-inet", !is_shut(socketpair(AF_INET, SOCK_STREAM, 0, pair)), answer(-1));
	works("pair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		int fd = socket(tries[i].family, tries[i].type, tries[i].protocol);

		door_if(tries[i].name, !is_shut(fd), answer(fd));
	}
	try_all_families();
	try_all_netlink();
	try_pairs();
	works("tcp", socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0);
	works("tcp6", socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, IPPROTO_TCP) >= 0);
	works("udp", socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP) >= 0);
	works("udp6", socket(AF_INET6, SOCK_DGRAM, 0) >= 0);
	works("unix", socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0) >= 0);
	works("route", socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE) >= 0);
	return 0;
}
