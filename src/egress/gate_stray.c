/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets that go nowhere: datagrams, for which there is nobody but name servers, and connections to
 * ports that nobody listens on. The kernel refuses them; a socket that hears them (guest/egress.c)
 * tells us where they were meant to go, whichever call sent them. Of each it keeps the headers.
 */
#include <netinet/in.h>
#include <netinet/ip.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "egress/gate_int.h"

#define STRAYS 32    /* in one turn */
#define PORTS_END 4u /* both are in front, of UDP and of TCP */

static bool read_ip4(const uint8_t *data, size_t len, struct address *ret, uint16_t *port)
{
	size_t front = len > 0 ? 4u * (data[0] & 15u) : 0;

	if (front < 20 || len < front + PORTS_END)
		return false;
	*ret = address_of_ip4(data + 16);
	*port = (uint16_t)(data[front + 2] << 8 | data[front + 3]);
	return true;
}

/* Of IPv6 the socket gives what is behind the header, and the address apart. */
static bool read_ip6(const uint8_t *data, size_t len, struct msghdr *hdr, struct address *ret,
		     uint16_t *port)
{
	struct cmsghdr *h = CMSG_FIRSTHDR(hdr);
	struct in6_pktinfo at;

	if (!h || h->cmsg_level != IPPROTO_IPV6 || h->cmsg_type != IPV6_PKTINFO || len < PORTS_END)
		return false;
	memcpy(&at, CMSG_DATA(h), sizeof(at));
	*ret = address_of_ip6(at.ipi6_addr.s6_addr);
	*port = (uint16_t)(data[2] << 8 | data[3]);
	return true;
}

/* A connection to a port that nobody listens on, in the words of the policy. */
static void tell_refused(struct box *b, const struct name *host, uint16_t port)
{
	const struct egress_request q = {
		.host = host, .port = port, .protocol = EGRESS_ANY, .stage = EGRESS_CONNECT};
	struct egress_verdict v;

	policy_decide(b->policy, &q, &v);
	box_deny(b, host, port, NULL, v.action == EGRESS_DENY ? v.name : NULL,
		 v.action == EGRESS_DENY ? v.hint
					 : "no rule named this port when the sandbox was made: it "
					   "is reached by the proxy alone");
}

static void tell(const struct listener *l, const struct address *a, uint16_t port)
{
	char what[sizeof(GATE_SENT) + NAME_SIZE + 16];
	enum address_class class = address_class(a);
	struct box *b = l->box;
	struct name host;

	if (class == ADDRESS_LOOPBACK || class == ADDRESS_UNSPECIFIED)
		return; /* to somebody inside */
	if (!synthetic_is(a) || !synthetic_name(b->names, a, &host))
		name_of_address(a, &host);
	if (l->port == IPPROTO_TCP) {
		tell_refused(b, &host, port);
		return;
	}
	(void)snprintf(what, sizeof(what),
		       host.kind == NAME_IP6 ? GATE_SENT "[%s]:%u" : GATE_SENT "%s:%u", host.text,
		       port);
	box_deny(b, &host, port, what, "datagram",
		 "datagrams (UDP) leave no sandbox, whatever its policy; use TCP, such as HTTP "
		 "without QUIC");
}

void stray_packets(struct listener *l)
{
	for (int i = 0; i < STRAYS; i++) {
		uint8_t data[GATE_STRAY_BYTES];
		union {
			struct cmsghdr head;
			char room[CMSG_SPACE(sizeof(struct in6_pktinfo))];
		} where;
		struct sockaddr_storage from;
		struct iovec iov = {.iov_base = data, .iov_len = sizeof(data)};
		struct msghdr hdr = {.msg_name = &from,
				     .msg_namelen = sizeof(from),
				     .msg_iov = &iov,
				     .msg_iovlen = 1,
				     .msg_control = &where,
				     .msg_controllen = sizeof(where)};
		ssize_t n = recvmsg(l->source.fd, &hdr, MSG_DONTWAIT);
		struct address a;
		uint16_t port = 0;

		if (n < 0)
			return;
		if (from.ss_family == AF_INET ? read_ip4(data, (size_t)n, &a, &port)
					      : read_ip6(data, (size_t)n, &hdr, &a, &port))
			tell(l, &a, port);
	}
}
