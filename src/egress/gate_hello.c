/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name in TLS that is passed through: it has to be the host that was connected to. A server may
 * ask for a second hello (TLS 1.3, HelloRetryRequest), and servers believe the name in that one: so
 * until it has answered nothing but the first hello goes to it, and a second is held against the
 * host as the first was.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "egress/gate_int.h"
#include "egress/hello.h"
#include "egress/hold.h"

#define TLS_UNRECOGNIZED_NAME 112 /* an alert */

static void deny(struct conn *c, const char *what, const char *hint)
{
	box_deny(c->box, &c->host, c->port, what, "tls", hint);
}

/* NAME: it is the host's. What is refused was told. */
static enum hello_state judge(struct conn *c, const uint8_t *at, size_t len, struct hello *ret)
{
	char what[192];
	enum hello_state state = hello_parse(at, len, ret);

	if (state == HELLO_REFUSED) {
		(void)snprintf(what, sizeof(what), "connect %.100s:%u: %.60s", c->host.text,
			       c->port, ret->why);
		deny(c, what,
		     "on this port TLS is expected, with the server's name in the clear (SNI)");
	} else if (state == HELLO_NAME && HOLD_GATE_SNI && !name_equal(&ret->name, &c->host)) {
		(void)snprintf(what, sizeof(what), "connect %.70s:%u: TLS asks for %.70s",
			       c->host.text, c->port, ret->name.text);
		deny(c, what, "the name in TLS (SNI) must be the host that is connected to");
		state = HELLO_REFUSED;
	}
	return state;
}

static void judge_first(struct conn *c)
{
	struct hello h = {0};

	switch (judge(c, c->hello, c->hello_len, &h)) {
	case HELLO_MORE: return;
	case HELLO_REFUSED: conn_refuse_tls(c, h.alert ? h.alert : TLS_UNRECOGNIZED_NAME); return;
	case HELLO_NAME: break;
	}
	c->hello_may = h.len;
	c->second = HOLD_GATE_SECOND ? SECOND_UNKNOWN : SECOND_NONE;
	conn_resolve(c);
}

/* False: it has ended, and is closed. */
static bool read_client(struct conn *c, void (*act)(struct conn *c))
{
	while (c->hello_len < c->hello_cap) {
		enum conn_state state = c->state;
		ssize_t n =
			recv(c->client.fd, c->hello + c->hello_len, c->hello_cap - c->hello_len, 0);

		if (n < 0 && errno == EAGAIN)
			return true;
		if (n <= 0) {
			conn_close(c);
			return false;
		}
		c->hello_len += (size_t)n;
		act(c);
		if (c->state != state || (state == CONN_RELAY && !c->second))
			return c->state != CONN_CLOSED;
	}
	conn_abort(c); /* it is longer than any */
	return false;
}

void conn_hello_run(struct conn *c)
{
	if (conn_first_bytes(c) < 0)
		return;
	if (c->hello_len) /* a proxy's client said it behind its request */
		judge_first(c);
	if (c->state == CONN_HELLO)
		(void)read_client(c, judge_first);
}

static void judge_second(struct conn *c)
{
	struct hello h = {0};
	bool more = false;
	size_t front = hello_second(c->hello, c->hello_len, &more);

	if (more)
		return;
	switch (judge(c, c->hello + front, c->hello_len - front, &h)) {
	case HELLO_MORE: return;
	case HELLO_REFUSED: conn_abort(c); return;
	case HELLO_NAME: break;
	}
	c->second = SECOND_NONE; /* there is no third */
}

/* Does the server want a second one? What it says stays where it is. */
static bool hear_server(struct conn *c)
{
	uint8_t said[HELLO_ANSWER_BYTES];
	ssize_t n = recv(c->server.fd, said, sizeof(said), MSG_PEEK);

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		conn_deadline(c, IDLE_MS);
		return false;
	}
	if (n < 0) {
		conn_abort(c);
		return false;
	}
	enum hello_answer answer = hello_answer(said, (size_t)n);
	/* Who has ended, be it in the middle, asks for nothing. */
	if (answer == HELLO_ANSWER_MORE && (n == 0 || c->from_server.has_end))
		answer = HELLO_ANSWER_FINAL;
	switch (answer) {
	case HELLO_ANSWER_MORE: return false;
	case HELLO_ANSWER_RETRY:
		c->second = SECOND_AWAITED;
		conn_deadline(c, HELLO_MS);
		break;
	case HELLO_ANSWER_FINAL: c->second = SECOND_NONE; break;
	}
	return true;
}

bool conn_second_run(struct conn *c)
{
	/* Who has said all there is before the server answered has gone. */
	if (c->from_client.has_end) {
		conn_abort(c);
		return false;
	}
	if (c->second == SECOND_UNKNOWN && !hear_server(c))
		return false;
	if (c->second == SECOND_AWAITED && c->hello_len)
		judge_second(c);
	if (c->second == SECOND_AWAITED && c->state == CONN_RELAY)
		(void)read_client(c, judge_second);
	return c->state == CONN_RELAY;
}
