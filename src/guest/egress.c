/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With a policy: every address leads to the loopback, and sockets that listen there are handed to
 * the gate, outside. All before the first right is given up and before anybody's program is here.
 * The socket to the gate stays open, and is never written to again: its end is the sandbox's end.
 * Where the host has no IPv6 there is none inside.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_addr.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/sys.h"
#include "guest/guest.h"
#include "wire/gate.h"

#define LO_INDEX 1 /* the first interface of every namespace */
#define BACKLOG 1024
#define STRAYS_BYTES 16384 /* more at a time are not told one by one */

#ifndef IPV6_FREEBIND
#define IPV6_FREEBIND 78
#endif

struct route {
	struct nlmsghdr head;
	struct rtmsg route;
	struct rtattr out;
	uint32_t index;
};

struct own {
	struct nlmsghdr head;
	struct ifaddrmsg address;
	struct rtattr local;
	unsigned char at[16];
};

static int no_ip6(long r)
{
	return r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL || r == -EOPNOTSUPP || r == -EACCES ||
	       r == -ENODEV;
}

/* One request to the kernel, and what it says to it. */
static long tell(long sock, const void *ask, size_t size)
{
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char rest[256];
	} answer = {0};
	long r = sys3(SYS_write, sock, ask, size);

	if (r >= 0)
		r = sys3(SYS_read, sock, &answer, sizeof(answer));
	if (r < 0)
		return r;
	if (r < (long)(sizeof(answer.head) + sizeof(answer.error.error)) ||
	    answer.head.nlmsg_type != NLMSG_ERROR)
		return -EPROTO;
	return answer.error.error;
}

static long add_route(long sock, int family)
{
	struct route ask = {
		.head = {.nlmsg_len = sizeof(ask),
			 .nlmsg_type = RTM_NEWROUTE,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL},
		.route = {.rtm_family = (unsigned char)family,
			  .rtm_table = RT_TABLE_LOCAL,
			  .rtm_protocol = RTPROT_STATIC,
			  .rtm_scope = RT_SCOPE_HOST,
			  .rtm_type = RTN_LOCAL},
		.out = {.rta_len = RTA_LENGTH(sizeof(ask.index)), .rta_type = RTA_OIF},
		.index = LO_INDEX,
	};

	return tell(sock, &ask, sizeof(ask));
}

/* Programs that ask for addresses of one family only if the machine has such (AI_ADDRCONFIG) do not
 * count 127.0.0.1: without another one they would get none. It is none that stands for a name. */
static long add_address(long sock, int family)
{
	static const unsigned char at4[4] = {198, 19, 255, 254};
	static const unsigned char at6[16] = {0xfd, 0x70, 0x69, 0x66, 0x6f, 0x6c, 0x64, 0x01,
					      0,    0,	  0,	0,    0,    0,	  0,	1};
	unsigned size = family == AF_INET ? sizeof(at4) : sizeof(at6);
	struct own ask = {
		.head = {.nlmsg_len = sizeof(ask) - sizeof(ask.at) + size,
			 .nlmsg_type = RTM_NEWADDR,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL},
		.address = {.ifa_family = (unsigned char)family,
			    .ifa_prefixlen = (unsigned char)(8 * size),
			    .ifa_flags = IFA_F_NODAD,
			    .ifa_index = LO_INDEX},
		.local = {.rta_len = (unsigned short)RTA_LENGTH(size), .rta_type = IFA_LOCAL},
	};

	__builtin_memcpy(ask.at, family == AF_INET ? at4 : at6, size);
	return tell(sock, &ask, ask.head.nlmsg_len);
}

static long add_family(long sock, int family)
{
	long r = add_address(sock, family);

	return r < 0 ? r : add_route(sock, family);
}

static int do_routes(void)
{
	long sock = sys3(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (sock < 0)
		return (int)sock;
	long r = add_family(sock, AF_INET);
	if (r >= 0) {
		r = add_family(sock, AF_INET6);
		r = no_ip6(r) ? 0 : r;
	}
	(void)sys1(SYS_close, sock);
	return (int)r;
}

static long set(long sock, int level, int name)
{
	int on = 1;

	return sys5(SYS_setsockopt, sock, level, name, &on, sizeof(on));
}

static long bind_to(long sock, int family, const struct plan_step *step)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};

	in.sin_port = in6.sin6_port = __builtin_bswap16((uint16_t)step->a);
	if (step->b == GATE_PROXY)
		in.sin_addr.s_addr = __builtin_bswap32(INADDR_LOOPBACK);
	return family == AF_INET ? sys3(SYS_bind, sock, &in, sizeof(in))
				 : sys3(SYS_bind, sock, &in6, sizeof(in6));
}

/* What the gate needs to know of a datagram is where it was sent to, and it answers from there. */
static long options(long sock, int family, const struct plan_step *step)
{
	long r = family == AF_INET6 ? set(sock, IPPROTO_IPV6, IPV6_V6ONLY) : 0;

	if (step->b != GATE_UDP || r < 0)
		return r;
	if (family == AF_INET)
		return set(sock, IPPROTO_IP, IP_PKTINFO);
	r = set(sock, IPPROTO_IPV6, IPV6_RECVPKTINFO);
	return r < 0 ? r : set(sock, IPPROTO_IPV6, IPV6_FREEBIND);
}

static long hand_over(long sock, const struct plan_step *step)
{
	struct gate_listen msg = {
		.magic = GATE_MAGIC, .kind = (uint16_t)step->b, .port = (uint16_t)step->a};
	struct iovec iov = {.iov_base = &msg, .iov_len = sizeof(msg)};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
			      .cmsg_level = SOL_SOCKET,
			      .cmsg_type = SCM_RIGHTS}};
	struct msghdr hdr = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control.room)};

	*(int *)(void *)CMSG_DATA(&control.head) = (int)sock;
	return sys3(SYS_sendmsg, GUEST_GATE, &hdr, MSG_NOSIGNAL);
}

#define FILTER_MAX (GATE_PORTS_MAX + 24)
#define SYN_ACK 0x12 /* of TCP's flags */
#define SYN 0x02

static uint16_t taken[GATE_PORTS_MAX + 4]; /* ports that somebody listens on */
static unsigned n_taken;

static struct sock_filter op(unsigned code, uint32_t k)
{
	return (struct sock_filter){(uint16_t)code, 0, 0, k};
}

/* What is not from or to name servers, nor, as far as is easily seen, between programs inside; of
 * TCP what opens a connection to a port that nobody has. Of IPv4 a raw socket has the header in
 * front. Each test that decides jumps over one instruction. */
static unsigned strays_filter(struct sock_filter *f, int family, int protocol)
{
	unsigned at = family == AF_INET ? BPF_IND : BPF_ABS, n = 0;

	if (family == AF_INET) {
		f[n++] = op(BPF_LD | BPF_W | BPF_ABS, 16);
		f[n++] = op(BPF_ALU | BPF_AND | BPF_K, 0xff000000);
		f[n++] = (struct sock_filter){BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 127u << 24};
		f[n++] = op(BPF_RET | BPF_K, 0);
		f[n++] = op(BPF_LDX | BPF_B | BPF_MSH, 0);
	}
	if (protocol == IPPROTO_TCP) {
		f[n++] = op(BPF_LD | BPF_B | at, 13);
		f[n++] = op(BPF_ALU | BPF_AND | BPF_K, SYN_ACK);
		f[n++] = (struct sock_filter){BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYN};
		f[n++] = op(BPF_RET | BPF_K, 0);
	} else {
		f[n++] = op(BPF_LD | BPF_H | at, 0);
		f[n++] = (struct sock_filter){BPF_JMP | BPF_JEQ | BPF_K, 0, 1, GATE_DNS_PORT};
		f[n++] = op(BPF_RET | BPF_K, 0);
	}
	f[n++] = op(BPF_LD | BPF_H | at, 2);
	if (protocol == IPPROTO_UDP) {
		f[n++] = (struct sock_filter){BPF_JMP | BPF_JEQ | BPF_K, 0, 1, GATE_DNS_PORT};
		f[n++] = op(BPF_RET | BPF_K, 0);
	}
	for (unsigned i = 0; protocol == IPPROTO_TCP && i < n_taken; i++)
		f[n++] = (struct sock_filter){BPF_JMP | BPF_JEQ | BPF_K, (uint8_t)(n_taken - i), 0,
					      taken[i]};
	f[n++] = op(BPF_RET | BPF_K, GATE_STRAY_BYTES);
	f[n++] = op(BPF_RET | BPF_K, 0);
	return n;
}

static long hear_others(long sock, int family, int protocol)
{
	struct sock_filter code[FILTER_MAX];
	struct sock_fprog prog = {(uint16_t)strays_filter(code, family, protocol), code};
	int bytes = STRAYS_BYTES;
	long r = sys5(SYS_setsockopt, sock, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog));

	if (r >= 0)
		r = sys5(SYS_setsockopt, sock, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	return r < 0 || family == AF_INET ? r : set(sock, IPPROTO_IPV6, IPV6_RECVPKTINFO);
}

/* Whom packets were meant for that nobody takes. */
static long hear_strays(int family, const struct plan_step *step)
{
	long sock = sys3(SYS_socket, family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, (int)step->a);

	if (sock < 0)
		return sock;
	long r = hear_others(sock, family, (int)step->a);
	if (r >= 0)
		r = hand_over(sock, step);
	(void)sys1(SYS_close, sock);
	return r;
}

static long listen_on(int family, const struct plan_step *step)
{
	if (step->b == GATE_STRAYS)
		return hear_strays(family, step);
	int type = step->b == GATE_UDP ? SOCK_DGRAM : SOCK_STREAM;
	long sock = sys3(SYS_socket, family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (sock < 0)
		return sock;
	long r = options(sock, family, step);
	if (r >= 0)
		r = bind_to(sock, family, step);
	if (r >= 0 && type == SOCK_STREAM)
		r = sys2(SYS_listen, sock, BACKLOG);
	if (r >= 0)
		r = hand_over(sock, step);
	(void)sys1(SYS_close, sock);
	return r;
}

static int do_listen(const struct plan_step *step)
{
	long r = listen_on(AF_INET, step);

	if ((step->b == GATE_TCP || step->b == GATE_PROXY) &&
	    n_taken < sizeof(taken) / sizeof(taken[0]))
		taken[n_taken++] = (uint16_t)step->a;

	if (r >= 0 && step->b != GATE_PROXY) {
		r = listen_on(AF_INET6, step);
		r = no_ip6(r) ? 0 : r;
	}
	return r < 0 ? (int)r : 0;
}

int guest_egress_step(const struct plan_step *step)
{
	return step->op == PLAN_ROUTES ? do_routes() : do_listen(step);
}
