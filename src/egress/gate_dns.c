/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for a sandbox, whatever server it asks. Nothing of a question leaves the machine: a name
 * that a rule allows gets an address of ours that stands for it, any other is not there. Real
 * addresses are looked up when somebody connects (gate_resolve.c), so questions carry nothing out;
 * how many new names a wildcard gets in a minute is bounded, since each may be looked up later.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "egress/dns.h"
#include "egress/gate_int.h"
#include "egress/hold.h"

#define DATAGRAMS 32	/* in one turn */
#define RATE_PER_S 100u /* questions of a sandbox that are refused, */
#define BURST 500u	/* and so many at once; then with fewer words */

static bool too_fast(struct box *b)
{
	uint64_t add = (gate.now_ms - b->dns_at_ms) * RATE_PER_S / 1000;

	if (!b->dns_at_ms)
		add = BURST;
	if (add > 0) {
		b->dns_tokens =
			b->dns_tokens + add > BURST ? BURST : (uint32_t)(b->dns_tokens + add);
		b->dns_at_ms = gate.now_ms;
	}
	if (b->dns_tokens == 0)
		return true;
	b->dns_tokens--;
	return false;
}

static void deny_lookup(struct box *b, const struct name *n, const char *rule, const char *hint)
{
	char what[sizeof(GATE_LOOKUP) + NAME_SIZE];

	(void)snprintf(what, sizeof(what), GATE_LOOKUP "%s", n->text);
	box_deny(b, n, GATE_DNS_PORT, what, rule, hint);
}

static const struct name any_name = {.kind = NAME_DNS, .len = 1, .text = "*"};

static size_t refuse_fast(struct box *b, const struct dns_query *q, uint8_t *out)
{
	deny_lookup(b, &any_name, "dns", "too many questions for names in a second");
	return dns_answer_code(q, DNS_REFUSED, out);
}

static size_t answer_name(struct box *b, const struct dns_query *q, uint8_t *out)
{
	struct egress_request ask = {
		.host = &q->name, .protocol = EGRESS_DNS, .stage = EGRESS_LOOKUP};
	struct egress_verdict v;
	struct address a;

	policy_decide(b->policy, &ask, &v);
	if (mark_in(q->name.text, q->name.len)) {
		secrets_alarm_of(b, &q->name, GATE_DNS_PORT, "name");
		return dns_answer_code(q, DNS_NO_NAME, out);
	}
	if (!HOLD_GATE_NAMES)
		v.action = EGRESS_ALLOW;
	if (v.action == EGRESS_DENY && too_fast(b))
		return refuse_fast(b, q, out);
	if (v.action == EGRESS_DENY) {
		deny_lookup(b, &q->name, v.name, v.hint);
		return dns_answer_code(q, DNS_NO_NAME, out);
	}
	if (q->type != DNS_A && q->type != DNS_AAAA)
		return dns_answer(q, NULL, 0, out);
	if (v.is_below && !box_may_name(b, &q->name)) {
		deny_lookup(
			b, &q->name, "dns",
			"too many different names below a wildcard in a minute; name the hosts");
		return dns_answer_code(q, DNS_REFUSED, out);
	}
	if (synthetic_address(b->names, &q->name, q->type == DNS_AAAA, &a) < 0) {
		deny_lookup(b, &q->name, "dns", "this sandbox has asked for too many names");
		return dns_answer_code(q, DNS_REFUSED, out);
	}
	if (v.is_below) /* what it is called may say something */
		(void)box_row(b, q->name.text, GATE_DNS_PORT, GATE_ALLOWED, v.name);
	box_named(b, &q->name);
	return dns_answer(q, &a, 1, out);
}

/* 0: nothing is answered. */
static size_t answer(struct box *b, const uint8_t *msg, size_t len, uint8_t out[DNS_ANSWER_MAX])
{
	struct dns_query q;
	const char *why = NULL;
	int r = dns_query_parse(msg, len, &q, &why);

	if (r < 0)
		return 0;
	if (r > 0 && too_fast(b))
		return refuse_fast(b, &q, out);
	if (r > 0) {
		deny_lookup(b, &any_name, "dns", why ? why : "malformed question");
		return dns_answer_code(&q, (enum dns_code)r, out);
	}
	return answer_name(b, &q, out);
}

/* Where a datagram was sent to is where its answer comes from. */
union where {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_SPACE(sizeof(struct in_pktinfo))];
};

static bool turn_round(struct msghdr *hdr)
{
	struct cmsghdr *h = CMSG_FIRSTHDR(hdr);

	if (h && h->cmsg_level == IPPROTO_IP && h->cmsg_type == IP_PKTINFO) {
		struct in_pktinfo *at = (void *)CMSG_DATA(h);

		at->ipi_spec_dst = at->ipi_addr;
		at->ipi_ifindex = 0;
		hdr->msg_controllen = CMSG_SPACE(sizeof(*at));
		return true;
	}
	if (h && h->cmsg_level == IPPROTO_IPV6 && h->cmsg_type == IPV6_PKTINFO) {
		hdr->msg_controllen = CMSG_SPACE(sizeof(struct in6_pktinfo));
		return true;
	}
	return false;
}

void dns_datagram(struct listener *l)
{
	for (int i = 0; i < DATAGRAMS; i++) {
		uint8_t in[DNS_QUERY_MAX + 1], out[DNS_ANSWER_MAX];
		struct sockaddr_storage from;
		union where where;
		struct iovec iov = {.iov_base = in, .iov_len = sizeof(in)};
		struct msghdr hdr = {.msg_name = &from,
				     .msg_namelen = sizeof(from),
				     .msg_iov = &iov,
				     .msg_iovlen = 1,
				     .msg_control = &where,
				     .msg_controllen = sizeof(where)};
		ssize_t n = recvmsg(l->source.fd, &hdr, MSG_DONTWAIT);

		if (n < 0)
			return;
		size_t len = answer(l->box, in, (size_t)n, out);
		if (len == 0 || !turn_round(&hdr))
			continue;
		iov = (struct iovec){.iov_base = out, .iov_len = len};
		hdr.msg_flags = 0;
		(void)sendmsg(l->source.fd, &hdr, MSG_DONTWAIT | MSG_NOSIGNAL); /* it asks again */
	}
}

static void answer_stream(struct conn *c)
{
	uint8_t out[2 + DNS_ANSWER_MAX];
	int len;

	while ((len = dns_frame(c->hello, c->hello_len, DNS_QUERY_MAX)) > 0) {
		size_t n = answer(c->box, c->hello + 2, (size_t)len, out + 2);

		out[0] = (uint8_t)(n >> 8);
		out[1] = (uint8_t)n;
		/* One that asks and does not read is not waited for. */
		if (n == 0 ||
		    send(c->client.fd, out, n + 2, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)n + 2) {
			conn_abort(c);
			return;
		}
		c->hello_len -= (size_t)len + 2;
		memmove(c->hello, c->hello + 2 + len, c->hello_len);
	}
	if (len < 0)
		conn_abort(c);
}

void dns_stream_run(struct conn *c)
{
	if (conn_first_bytes(c) < 0)
		return;
	while (c->state == CONN_DNS && c->hello_len < c->hello_cap) {
		ssize_t n =
			recv(c->client.fd, c->hello + c->hello_len, c->hello_cap - c->hello_len, 0);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			conn_close(c);
			return;
		}
		c->hello_len += (size_t)n;
		answer_stream(c);
	}
}
