/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proxy's port, for clients that like to be told of one: HTTP CONNECT, requests with a whole
 * URL, SOCKS5. It is no other way out: what is asked for is judged as a connection to it would be.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "egress/gate_int.h"
#include "egress/socks.h"
#include "egress/target.h"
#include "http/write.h"

/* With an end and not with a reset, which could overtake the answer. */
void conn_last(struct conn *c, const void *data, size_t len)
{
	char rest[4096];
	ssize_t n = 0;

	if (c->state != CONN_LAST) {
		c->state = CONN_LAST;
		conn_deadline(c, LAST_MS);
		/* A fresh socket takes so little at once; one that does not has other sorrows. */
		if (len && send(c->client.fd, data, len, MSG_NOSIGNAL) < 0) {
			conn_abort(c);
			return;
		}
		(void)shutdown(c->client.fd, SHUT_WR); /* it may be gone */
	}
	while ((n = recv(c->client.fd, rest, sizeof(rest), 0)) > 0)
		;
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		conn_close(c);
}

void conn_refuse_http(struct conn *c, unsigned status, const char *text)
{
	char buf[1200], body[600];
	struct http_out o;
	int n = snprintf(body, sizeof(body), "pinfold: %.500s\n", text);

	http_out_init(&o, buf, sizeof(buf) - sizeof(body));
	http_out_status(&o, status);
	http_out_field(&o, "Content-Type", "text/plain; charset=utf-8");
	http_out_field_u64(&o, "Content-Length", (uint64_t)n);
	http_out_field(&o, "Connection", "close");
	int len = http_out_end(&o);
	if (len < 0) {
		conn_abort(c);
		return;
	}
	memcpy(buf + len, body, (size_t)n);
	conn_last(c, buf, (size_t)(len + n));
}

static void took(struct conn *c, size_t n)
{
	c->hello_len -= n;
	memmove(c->hello, c->hello + n, c->hello_len);
}

/* Clients that look names up themselves say the address that they were given for one. */
static void find_name(struct conn *c)
{
	struct name name;

	if (c->host.kind != NAME_DNS && synthetic_is(&c->host.address) &&
	    synthetic_name(c->box->names, &c->host.address, &name))
		c->host = name;
}

static void connect_http(struct conn *c, const struct http_head *h, size_t used)
{
	static const char yes[] = "HTTP/1.1 200 Connection established\r\n\r\n";
	struct egress_request q;
	struct egress_verdict v = {.hint = ""};
	const char *why = "malformed";

	if (target_of_connect(h, &c->host, &q, &why) < 0) {
		conn_refuse_http(c, 400, why);
		return;
	}
	c->port = q.port;
	find_name(c);
	if (!conn_decide(c, &v)) {
		if (!c->is_asking)
			conn_refuse_http(c, 403, v.hint[0] ? v.hint : "not allowed");
		return;
	}
	took(c, used);
	if (send(c->client.fd, yes, sizeof(yes) - 1, MSG_NOSIGNAL) != (ssize_t)sizeof(yes) - 1)
		conn_abort(c);
	else
		conn_go(c);
}

static void http_run(struct conn *c)
{
	struct http_head h;
	struct http_error e;

	http_head_init(&h);
	int used = http_head_parse(&h, (const char *)c->hello, c->hello_len, HTTP_REQUEST, &e);
	if (used < 0)
		conn_refuse_http(c, e.status, e.why);
	else if (used == 0)
		return;
	else if (h.method == HTTP_CONNECT)
		connect_http(c, &h, (size_t)used);
	else if (h.form != HTTP_ABSOLUTE)
		conn_refuse_http(c, 400, "this is a proxy: send CONNECT, or a whole URL");
	else if (stage_begin(c, http_stage_new(c, true)) < 0)
		conn_abort(c);
}

static void refuse_socks(struct conn *c, enum socks_reply reply)
{
	uint8_t answer[SOCKS_REPLY_SIZE];

	socks_answer(reply, answer);
	conn_last(c, answer, sizeof(answer));
}

static void socks_connect(struct conn *c)
{
	struct socks_request q;
	struct egress_verdict v;
	uint8_t answer[SOCKS_REPLY_SIZE];
	int used = socks_request(c->hello, c->hello_len, &q);

	if (used == 0)
		return;
	if (used < 0) {
		refuse_socks(c, q.reply ? q.reply : SOCKS_FAILURE);
		return;
	}
	c->host = q.host;
	c->port = q.port;
	find_name(c);
	if (!conn_decide(c, &v)) {
		if (!c->is_asking)
			refuse_socks(c, SOCKS_DENIED);
		return;
	}
	took(c, (size_t)used);
	socks_answer(SOCKS_OK, answer);
	if (send(c->client.fd, answer, sizeof(answer), MSG_NOSIGNAL) != (ssize_t)sizeof(answer))
		conn_abort(c);
	else
		conn_go(c);
}

static void socks_run(struct conn *c)
{
	uint8_t answer[2] = {0, 0};

	if (!c->has_greeted) {
		int used = socks_greeting(c->hello, c->hello_len, answer);

		if (used == 0)
			return;
		if (used < 0) {
			conn_last(c, answer, answer[0] ? sizeof(answer) : 0);
			return;
		}
		took(c, (size_t)used);
		c->has_greeted = true;
		if (send(c->client.fd, answer, sizeof(answer), MSG_NOSIGNAL) != 2) {
			conn_abort(c);
			return;
		}
	}
	socks_connect(c);
}

static void judge_first(struct conn *c)
{
	if (c->has_greeted || socks_is(c->hello[0]))
		socks_run(c);
	else
		http_run(c);
}

void proxy_run(struct conn *c)
{
	if (c->is_asking || conn_first_bytes(c) < 0)
		return;
	if (c->said) { /* of what came already, and waited for it */
		judge_first(c);
		if (c->state != CONN_PROXY || c->is_asking)
			return;
	}
	while (c->state == CONN_PROXY && c->hello_len < c->hello_cap) {
		ssize_t n =
			recv(c->client.fd, c->hello + c->hello_len, c->hello_cap - c->hello_len, 0);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			conn_close(c);
			return;
		}
		c->hello_len += (size_t)n;
		judge_first(c);
		if (c->is_asking)
			return;
	}
	if (c->state == CONN_PROXY && !c->has_greeted && !socks_is(c->hello[0]))
		conn_refuse_http(c, 431, "the head is longer than 32 KiB");
	else if (c->state == CONN_PROXY)
		conn_abort(c);
}
