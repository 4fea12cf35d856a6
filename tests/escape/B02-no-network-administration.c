/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The usual way from a user to the kernel: a user namespace with a network namespace, and then the
 * packet filter or traffic control. Each step is also tried alone, in the sandbox's own network.
 */
#include "B-doors.h"
#include <arpa/inet.h>
#include <linux/if_link.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define IPT_SO_SET_REPLACE 64
#define PAYLOAD_MAX 256

struct request {
	struct nlmsghdr head;
	char payload[PAYLOAD_MAX];
};

static void put(struct request *r, const void *data, size_t len)
{
	memcpy((char *)r + NLMSG_ALIGN(r->head.nlmsg_len), data, len);
	r->head.nlmsg_len = NLMSG_ALIGN(r->head.nlmsg_len) + (unsigned)len;
}

static void put_string(struct request *r, unsigned short type, const char *text)
{
	struct nlattr attr = {(unsigned short)(NLA_HDRLEN + strlen(text) + 1), type};

	put(r, &attr, sizeof(attr));
	put(r, text, strlen(text) + 1);
}

/* Sends it and returns what the kernel answers: 0, or -1 with errno. */
static int ask(int protocol, struct request *r, const void *data, size_t len)
{
	struct {
		struct nlmsghdr head;
		struct nlmsgerr err;
		char rest[512];
	} reply = {0};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);

	if (fd < 0)
		return -1;
	if (!data) {
		data = r;
		len = NLMSG_ALIGN(r->head.nlmsg_len);
	}
	if (send(fd, data, len, 0) < 0 || recv(fd, &reply, sizeof(reply), 0) < 0) {
		close(fd);
		return -1;
	}
	close(fd);
	errno = reply.head.nlmsg_type == NLMSG_ERROR ? -reply.err.error : EBADMSG;
	return errno ? -1 : 0;
}

static struct request route_request(unsigned short type, const void *body, size_t len)
{
	const unsigned short flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE;
	struct request r = {{NLMSG_HDRLEN, type, flags, 1, 0}, ""};

	put(&r, body, len);
	return r;
}

static int add_qdisc(void)
{
	struct tcmsg body = {.tcm_ifindex = 1, .tcm_handle = 0x10000, .tcm_parent = TC_H_ROOT};
	struct request r = route_request(RTM_NEWQDISC, &body, sizeof(body));

	put_string(&r, TCA_KIND, "pfifo");
	return ask(NETLINK_ROUTE, &r, NULL, 0);
}

static int add_address(void)
{
	struct ifaddrmsg body = {AF_INET, 32, 0, 0, 1};
	struct request r = route_request(RTM_NEWADDR, &body, sizeof(body));
	struct nlattr attr = {NLA_HDRLEN + 4, IFA_LOCAL};
	in_addr_t address = inet_addr("198.51.100.77");

	put(&r, &attr, sizeof(attr));
	put(&r, &address, sizeof(address));
	return ask(NETLINK_ROUTE, &r, NULL, 0);
}

static int add_dummy(void)
{
	struct ifinfomsg body = {.ifi_family = AF_UNSPEC};
	struct request r = route_request(RTM_NEWLINK, &body, sizeof(body));
	struct nlattr nest = {NLA_HDRLEN + NLA_HDRLEN + 8, IFLA_LINKINFO};

	put(&r, &nest, sizeof(nest));
	put_string(&r, IFLA_INFO_KIND, "dummy");
	return ask(NETLINK_ROUTE, &r, NULL, 0);
}

/* nf_tables wants its changes between a begin and an end. */
static int add_table(void)
{
	struct nfgenmsg batch = {AF_UNSPEC, NFNETLINK_V0, htons(NFNL_SUBSYS_NFTABLES)};
	struct nfgenmsg inet = {NFPROTO_INET, NFNETLINK_V0, 0};
	struct request r[3] = {
		{{NLMSG_HDRLEN, NFNL_MSG_BATCH_BEGIN, NLM_F_REQUEST, 1, 0}, ""},
		{{NLMSG_HDRLEN, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWTABLE,
		  NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE, 2, 0},
		 ""},
		{{NLMSG_HDRLEN, NFNL_MSG_BATCH_END, NLM_F_REQUEST, 3, 0}, ""},
	};
	char all[sizeof(r)];
	size_t len = 0;

	put(&r[0], &batch, sizeof(batch));
	put(&r[1], &inet, sizeof(inet));
	put_string(&r[1], NFTA_TABLE_NAME, "x");
	put(&r[2], &batch, sizeof(batch));
	for (int i = 0; i < 3; i++) {
		memcpy(all + len, &r[i], NLMSG_ALIGN(r[i].head.nlmsg_len));
		len += NLMSG_ALIGN(r[i].head.nlmsg_len);
	}
	return ask(NETLINK_NETFILTER, NULL, all, len);
}

/* Rules of the old kind. Any other answer than these two comes from behind the check of rights. */
static void try_iptables(const char *name, int family, int level)
{
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char rules[128] = "x";
	int ret = setsockopt(fd, level, IPT_SO_SET_REPLACE, rules, sizeof(rules));

	door_if(name, ret == 0 || (errno != EPERM && errno != ENOPROTOOPT), answer(ret));
	close(fd);
}

static void try_all(long after_userns)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq lo = {.ifr_name = "lo"};

	if (after_userns)
		filtered("userns+netns", unshare(CLONE_NEWUSER | CLONE_NEWNET));
	door("nft-table", add_table());
	door("tc-qdisc", add_qdisc());
	door("link-dummy", add_dummy());
	door("address", add_address());
	try_iptables("iptables", AF_INET, SOL_IP);
	try_iptables("ip6tables", AF_INET6, SOL_IPV6);
	door("lo-down", ioctl(fd, SIOCSIFFLAGS, &lo));
	close(fd);
}

int main(void)
{
	in_child(try_all, 0);
	in_child(try_all, 1);
	return 0;
}
