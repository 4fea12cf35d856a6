/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom a connection of TLS that is only passed through would reach. TLS 1.3 hides the certificate
 * from who stands in between, so the gate asks for it itself: before the first connection of a
 * sandbox to a name at an address, and again when that was long ago, it shakes hands with that
 * address by that name, as a client that believes nothing. Only then is the sandbox's hello sent to
 * that same address.
 *
 *	FREE ─► CONNECTING ─► SHAKING ─► GOOD | BAD      until the time is over: FREE
 *	             └─────────────┴───► UNREACHED       its next address is tried
 *
 * Each sandbox has its own: whether somebody else was at a place is not for it to find out.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "egress/gate_int.h"
#include "egress/hold.h"

#define GOOD_MS 600000u
#define BAD_MS 10000u
#define UNREACHED_MS 1000u
#define ROUNDS 64

/* Those that wait look again; they know nothing of checks but what they ask for. */
static void wake(const struct box *b)
{
	for (struct conn *c = gate.conns; c; c = c->next)
		if (c->box == b && c->state == CONN_CHECK)
			conn_busy(c);
}

static void leave(struct check *k)
{
	gate_forget(&k->source);
	channel_free(k->channel);
	k->channel = NULL;
	stage_buf_done(&k->in);
	stage_buf_done(&k->out);
}

static void settle(struct check *k, enum check_state state, const char *why)
{
	leave(k);
	k->state = state;
	k->why = why;
	k->until_ms = gate.now_ms + (state == CHECK_GOOD  ? GOOD_MS
				     : state == CHECK_BAD ? BAD_MS
							  : UNREACHED_MS);
	wake(k->box);
}

/* > 0: bytes moved. 0: nothing now. < 0: broken. */
static int fill(struct check *k)
{
	char *at;
	size_t room = k->ended ? 0 : stage_room(&k->in, &at);

	if (room == 0)
		return 0;
	ssize_t n = recv(k->source.fd, at, room, 0);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (n == 0)
		k->ended = true;
	else
		stage_added(&k->in, (size_t)n);
	return 1;
}

static int drain(struct check *k)
{
	if (k->out.len == 0)
		return 0;
	ssize_t n = send(k->source.fd, k->out.data + k->out.start, k->out.len, MSG_NOSIGNAL);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	stage_took(&k->out, (size_t)n);
	return 1;
}

static void shake(struct check *k)
{
	int r = 0, moved = 1;

	for (int i = 0; i < ROUNDS && r == 0 && moved > 0; i++) {
		moved = fill(k);
		if (moved < 0)
			break;
		r = channel_shake(k->channel);
		int sent = drain(k);
		moved = sent < 0 ? -1 : moved | sent;
	}
	if (channel_is_proven(k->channel)) {
		channel_end(k->channel);
		(void)drain(k); /* a courtesy */
		settle(k, CHECK_GOOD, NULL);
	} else if (r < 0) {
		settle(k, CHECK_BAD, channel_why(k->channel));
	} else if (moved < 0 || k->ended) {
		settle(k, CHECK_UNREACHED, NULL);
	}
}

static void connected(struct check *k)
{
	int error = 0;
	socklen_t len = sizeof(error);
	struct sockaddr_storage peer;
	socklen_t peer_len = sizeof(peer);
	struct err e = ERR_INIT;

	if (getsockopt(k->source.fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 || error) {
		settle(k, CHECK_UNREACHED, NULL);
		return;
	}
	if (getpeername(k->source.fd, (struct sockaddr *)&peer, &peer_len) < 0)
		return; /* not yet */
	struct channel_roots *roots = inspect_roots(&e);
	k->channel = roots ? channel_connect(roots, &k->host, CHANNEL_NOTHING) : NULL;
	if (!k->channel) {
		settle(k, CHECK_BAD, "there is nothing to check certificates by");
		return;
	}
	channel_bind(k->channel, &k->in, &k->out, &k->ended);
	k->state = CHECK_SHAKING;
	shake(k);
}

static void on_server(struct source *s, uint32_t events)
{
	struct check *k = (struct check *)(void *)s; /* its first member */

	(void)events;
	if (k->state == CHECK_CONNECTING)
		connected(k);
	else if (k->state == CHECK_SHAKING)
		shake(k);
}

static void begin(struct check *k)
{
	struct sockaddr_storage to;
	socklen_t len = address_to_sockaddr(&k->address, k->port, &to);

	k->state = CHECK_CONNECTING;
	k->until_ms = gate.now_ms + CONNECT_MS;
	k->ended = false;
	k->source = (struct source){
		socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on_server};
	if (k->source.fd < 0 ||
	    (connect(k->source.fd, (struct sockaddr *)&to, len) < 0 && errno != EINPROGRESS) ||
	    gate_watch(&k->source, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET) < 0)
		settle(k, CHECK_UNREACHED, NULL);
}

static bool is_of(const struct check *k, const struct conn *c, const struct address *a)
{
	return k->state != CHECK_FREE && k->port == c->port && address_equal(&k->address, a) &&
	       name_equal(&k->host, &c->host);
}

/* A place for another: a free one, else the one that is settled and ends first. */
static struct check *place(struct box *b)
{
	struct check *oldest = NULL;

	for (unsigned i = 0; i < BOX_CHECKS_MAX; i++) {
		struct check *k = &b->checks[i];

		if (k->state == CHECK_FREE)
			return k;
		if (k->state >= CHECK_GOOD && (!oldest || k->until_ms < oldest->until_ms))
			oldest = k;
	}
	return oldest;
}

static void deny(struct conn *c, const char *why)
{
	char what[192];

	(void)snprintf(what, sizeof(what), "connect %.100s:%u: %.70s", c->host.text, c->port, why);
	box_deny(
		c->box, &c->host, c->port, what, "certificate",
		"the server's certificate is held against its name before anything is sent, and that "
		"failed; a person can trust its authority on the host, or give the rule "
		"`protocol: tcp`");
}

enum check_state check_server(struct conn *c, const struct address *a)
{
	struct check *k = NULL;

	if (!HOLD_GATE_CERTIFICATE)
		return CHECK_GOOD;
	for (unsigned i = 0; i < BOX_CHECKS_MAX && !k; i++)
		if (is_of(&c->box->checks[i], c, a))
			k = &c->box->checks[i];
	if (k && k->state >= CHECK_GOOD && gate.now_ms >= k->until_ms)
		k->state = CHECK_FREE;
	if (!k && !(k = place(c->box)))
		return CHECK_UNREACHED; /* as many at once as a sandbox may have */
	if (!is_of(k, c, a)) {
		*k = (struct check){.source = {.fd = FD_NONE},
				    .box = c->box,
				    .host = c->host,
				    .address = *a,
				    .port = c->port};
		begin(k);
	}
	if (k->state == CHECK_BAD)
		deny(c, k->why);
	return k->state;
}

void checks_tick(struct box *b)
{
	for (unsigned i = 0; i < BOX_CHECKS_MAX; i++) {
		struct check *k = &b->checks[i];

		if ((k->state == CHECK_CONNECTING || k->state == CHECK_SHAKING) &&
		    gate.now_ms >= k->until_ms)
			settle(k, CHECK_UNREACHED, NULL);
	}
}

void checks_close(struct box *b)
{
	for (unsigned i = 0; i < BOX_CHECKS_MAX; i++)
		if (b->checks[i].state != CHECK_FREE) {
			leave(&b->checks[i]);
			b->checks[i].state = CHECK_FREE;
		}
}
