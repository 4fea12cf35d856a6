/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections to servers that wait for another request. Where TLS ends at the gate, a handshake is
 * most of what a short request costs, so a server whose client has gone is kept for a while, for
 * the next client of the same sandbox.
 *
 * What one exchange leaves behind must not reach another. So a connection waits only if
 *	- its last answer was whole, framed by itself, and its request was sent to the end;
 *	- nothing came behind it. A byte that comes while it waits ends it, whatever it says;
 *	- it served one rule of one policy, with the same secrets or none: a server may have tied
 *	  who we are to the connection. One that does so by design (401, Negotiate) never waits;
 *	- its rule does not count connections.
 * It stays at the address that was checked, with the certificate that was, and never longer than an
 * answer of a name server is believed. Another policy, or the end of the sandbox, ends all of them.
 *
 * A server may end it at the moment when we use it. So it is used only for what may be sent twice,
 * and then that is sent again, on a connection of its own (gate_http.c).
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "egress/gate_int.h"
#include "egress/hold.h"

#define SPARE_MS 30000u	      /* without a request */
#define SPARE_LIFE_MS 300000u /* in all, since it was connected */

struct spare {
	struct source source;
	struct spare *next;
	struct box *box;
	struct name host;
	uint16_t port;
	uint64_t rule; /* and policy, and secrets; as in struct errand */
	uint64_t since_ms, until_ms;
	struct channel *channel; /* owned */
};

static uint64_t mix(uint64_t h, const void *data, size_t len)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 1099511628211u;
	return h;
}

static uint64_t hash_of(const struct egress_verdict *v)
{
	uint64_t h = 14695981039346656037u;

	for (unsigned i = 0; i < v->n_inject; i++) {
		const struct egress_inject *in = &v->inject[i];

		h = mix(h, &in->where, sizeof(in->where));
		h = mix(h, in->secret, strlen(in->secret) + 1);
		h = mix(h, in->key, strlen(in->key) + 1);
		h = mix(h, in->prefix, strlen(in->prefix) + 1);
	}
	return h;
}

/* Schemes that say who is there with each request, and not once for all that follow. */
static bool is_tied(const struct http_head *h)
{
	const struct http_field *f = http_head_field(h, "authorization");

	return f && !(f->value_len > 6 && strncasecmp(f->value, "Basic ", 6) == 0) &&
	       !(f->value_len > 7 && strncasecmp(f->value, "Bearer ", 7) == 0);
}

void errand_set(struct conn *c, const struct egress_verdict *v, const struct http_head *h)
{
	struct errand *e = &c->errand;

	e->secrets = hash_of(v);
	e->rule = mix(mix(e->secrets, &v->rule, sizeof(v->rule)), &c->box->n_policies,
		      sizeof(c->box->n_policies));
	if (is_tied(h) || e->rule == ERRAND_OWN)
		e->rule = ERRAND_OWN;
	e->may_repeat = (h->method == HTTP_GET || h->method == HTTP_HEAD) &&
			h->content_length <= 0 && !h->chunked && !h->upgrade;
}

void errand_begin(struct conn *c, bool is_first)
{
	if (is_first)
		c->served = c->errand;
	else if (c->served.rule != c->errand.rule)
		c->served.rule = ERRAND_OWN;
}

bool spare_may(const struct conn *c)
{
	return c->protocol == EGRESS_HTTPS && !c->limits.connections && !c->box->is_ending;
}

/* Out of its list; what it had is closed, unless it was taken. */
static void drop(struct spare *s)
{
	struct box *b = s->box;

	for (struct spare **at = &b->spares; *at; at = &(*at)->next)
		if (*at == s) {
			*at = s->next;
			break;
		}
	b->n_spares--;
	gate.n_spares--;
	gate_forget(&s->source);
	channel_free(s->channel);
	s->channel = NULL;
	s->next = gate.dead_spares; /* this turn may still have an event for it */
	gate.dead_spares = s;
}

/* Nobody asked it anything. */
static void on_spare(struct source *src, uint32_t events)
{
	struct spare *s = (struct spare *)(void *)src; /* its first member */

	if ((HOLD_GATE_SPARE && (events & EPOLLIN)) || (events & ~(uint32_t)(EPOLLIN | EPOLLOUT)))
		drop(s);
}

/* The last of the list has waited longest. */
static void make_room(struct box *b)
{
	struct spare *last = b->spares;

	if (b->n_spares < BOX_SPARES_MAX)
		return;
	while (last->next)
		last = last->next;
	drop(last);
}

/* From one source to another, without a moment in which nobody is told. */
static bool move(struct source *from, struct source *to)
{
	struct epoll_event ev = {.events = BOTH_WAYS, .data.ptr = to};

	if (epoll_ctl(gate.epoll, EPOLL_CTL_MOD, from->fd, &ev) < 0)
		return false;
	to->fd = from->fd;
	from->fd = FD_NONE;
	return true;
}

static void keep(struct conn *c, struct channel **tls)
{
	make_room(c->box);
	struct spare *s = gate.n_spares < GATE_SPARES_MAX ? calloc(1, sizeof(*s)) : NULL;

	if (!s)
		return;
	*s = (struct spare){
		.source = {FD_NONE, on_spare},
		.next = c->box->spares,
		.box = c->box,
		.host = c->host,
		.port = c->port,
		.rule = c->served.rule,
		.since_ms = c->server_since_ms,
		.until_ms = gate.now_ms + SPARE_MS,
	};
	if (!move(&c->server, &s->source)) {
		free(s);
		return;
	}
	s->channel = *tls;
	channel_move(s->channel, &s->host);
	*tls = NULL;
	c->box->spares = s;
	c->box->n_spares++;
	gate.n_spares++;
}

void spare_part(struct conn *c)
{
	struct channel *tls = NULL;

	if (!c->server_open || c->server.fd < 0 || !c->stage || !c->stage->ops->part)
		return;
	bool good = c->stage->ops->part(c->stage, &c->io, &tls);
	if (good && tls && spare_may(c) && c->served.rule != ERRAND_OWN &&
	    gate.now_ms - c->server_since_ms < SPARE_LIFE_MS)
		keep(c, &tls);
	channel_free(tls);
	c->server_open = c->is_shared = false;
	c->io.server_open = c->io.server_ended = false;
	c->from_server = (struct inlet){0};
	stage_buf_done(&c->io.from_server);
}

static bool is_fit(const struct spare *s, const struct conn *c)
{
	bool same = s->rule == c->errand.rule || !HOLD_GATE_ERRAND;

	/* Who speaks HTTP/1.1 may want to open a WebSocket on it. */
	bool spoken = c->is_lane || !channel_is_h2(s->channel);

	return same && spoken && s->port == c->port && name_equal(&s->host, &c->host) &&
	       gate.now_ms < s->until_ms && gate.now_ms - s->since_ms < SPARE_LIFE_MS;
}

/* What the loop was not told of yet. */
static bool is_silent(const struct spare *s)
{
	char byte;

	return !HOLD_GATE_SPARE ||
	       (recv(s->source.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN);
}

bool spare_take(struct conn *c)
{
	if (!c->errand.may_repeat || c->errand.rule == ERRAND_OWN || !spare_may(c))
		return false;
	for (struct spare *s = c->box->spares, *next; s; s = next) {
		next = s->next;
		if (!is_fit(s, c))
			continue;
		gate_forget(&c->server);
		if (!is_silent(s) || !move(&s->source, &c->server)) {
			drop(s);
			continue;
		}
		c->server_since_ms = s->since_ms;
		c->server_open = c->io.server_open = c->is_shared = true;
		c->io.server_ended = false;
		c->from_server = (struct inlet){0};
		c->stage->ops->meet(c->stage, &c->io, s->channel);
		s->channel = NULL;
		drop(s);
		return true;
	}
	return false;
}

void spares_close(struct box *b)
{
	while (b->spares)
		drop(b->spares);
}

void spares_tick(struct box *b)
{
	for (struct spare *s = b->spares, *next; s; s = next) {
		next = s->next;
		if (gate.now_ms >= s->until_ms)
			drop(s);
	}
}

void spares_bury(void)
{
	while (gate.dead_spares) {
		struct spare *s = gate.dead_spares;

		gate.dead_spares = s->next;
		free(s);
	}
}
