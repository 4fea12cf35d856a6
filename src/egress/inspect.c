/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/inspect.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "egress/channel.h"
#include "egress/h2_up.h"
#include "egress/hold.h"

struct inspect {
	struct stage stage;
	struct inspect_inner with;
	struct stage *inner; /* owned; NULL until the client's handshake is done */
	struct stage_io plain;
	const struct name *host; /* borrowed */
	struct channel_roots *roots;
	struct channel *client,
		*server;  /* owned; client: NULL in the clear; server: until wanted */
	struct h2_up *h2; /* borrowed from `server`, which carries it; NULL: HTTP/1.1 is spoken */
	struct stage_buf frames_in, frames_out; /* of h2 */
	bool frames_ended;
	bool server_ready;
	bool is_ending, wants_server;
	const char *why;
};

/* The stage. Each step says whether it moved something. */

static void bind_sides(struct inspect *s, struct stage_io *io)
{
	if (s->client)
		channel_bind(s->client, &io->from_client, &io->to_client, &io->client_ended);
	if (s->server)
		channel_bind(s->server, &io->from_server, &io->to_server, &io->server_ended);
}

static enum stage_next end_with(struct inspect *s, enum stage_next next)
{
	if (next == STAGE_ABORT)
		return next;
	s->is_ending = true;
	return STAGE_ON;
}

/* The server speaks HTTP/2: somebody has to, on our side. */
static bool speak_h2(struct inspect *s)
{
	s->h2 = channel_carried(s->server);
	if (s->h2 || !channel_is_h2(s->server))
		return true;
	s->h2 = h2_up_new();
	if (s->h2)
		channel_carry(s->server, s->h2, h2_up_free);
	return s->h2;
}

/* The server was wanted: its handshake, before anything of a request goes there. */
static enum stage_next reach_server(struct inspect *s, struct stage_io *io)
{
	if (!s->server) {
		s->server = channel_connect(s->roots, s->host,
					    s->with.asks_h2 ? CHANNEL_HTTP2 : CHANNEL_HTTP1);
		if (!s->server)
			return STAGE_ABORT;
		if (s->with.sessions)
			channel_resume(s->server, s->with.sessions, s->with.port);
	}
	bind_sides(s, io);
	int r = channel_shake(s->server);
	if (r > 0 && channel_is_proven(s->server)) {
		if (!speak_h2(s))
			return STAGE_ABORT;
		s->server_ready = s->plain.server_open = true;
	} else if (r != 0) {
		s->why = channel_why(s->server);
		return end_with(s, s->inner->ops->no_server(s->inner, &s->plain, s->why));
	}
	return STAGE_ON;
}

static enum stage_next run_inner(struct inspect *s)
{
	enum stage_next next = s->inner->ops->run(s->inner, &s->plain);

	if (next == STAGE_SERVER || next == STAGE_OTHER)
		s->wants_server = true;
	if (next == STAGE_OTHER)
		return next;
	return next == STAGE_END || next == STAGE_ABORT ? end_with(s, next) : STAGE_ON;
}

/* Bytes from one buffer to the other, all of them where there is room. */
static int shift(struct stage_buf *from, struct stage_buf *to)
{
	size_t room = STAGE_BUF_MAX - to->len, n = from->len < room ? from->len : room;

	if (to->len == 0) {
		struct stage_buf empty = *to;

		*to = *from;
		*from = empty;
		return 0;
	}
	if (n == 0 || stage_put(to, from->data + from->start, n) < 0)
		return n == 0 ? 0 : -1;
	stage_took(from, n);
	return 0;
}

static void hear_client(struct inspect *s, struct stage_io *io)
{
	struct stage_io *p = &s->plain;
	bool cut = false;

	if (s->client) {
		(void)channel_take(s->client, &p->from_client, &p->client_ended, &cut);
		return;
	}
	(void)shift(&io->from_client, &p->from_client); /* what stays is tried again */
	p->client_ended = io->client_ended && io->from_client.len == 0;
}

static int tell_client(struct inspect *s, struct stage_io *io)
{
	return s->client ? (int)(channel_give(s->client, &s->plain.to_client) < 0 ? -1 : 0)
			 : shift(&s->plain.to_client, &io->to_client);
}

/* All that is inside is outside, too: say so and let the gate close. */
static enum stage_next last_words(struct inspect *s, struct stage_io *io)
{
	if (s->plain.to_client.len && tell_client(s, io) < 0)
		return STAGE_ABORT;
	if (s->plain.to_client.len)
		return STAGE_ON;
	if (s->client)
		channel_end(s->client);
	return STAGE_END;
}

/* Between the inner stage, which knows HTTP/1.1, and a server that speaks HTTP/2. */
static void translate(struct inspect *s)
{
	struct stage_io *p = &s->plain;
	const struct h2_up_io io = {&p->to_server, &p->from_server, &s->frames_in, &s->frames_out};
	bool goes_on = h2_up_run(s->h2, &io);

	if (!goes_on || (s->frames_ended && s->frames_in.len == 0 && h2_up_is_dry(s->h2)))
		p->server_ended = true;
}

static void hear_server(struct inspect *s)
{
	struct stage_io *p = &s->plain;

	if (!s->h2) {
		(void)channel_take(s->server, &p->from_server, &p->server_ended, &p->server_cut);
		return;
	}
	bool cut = false; /* an answer in frames says itself where it ends */
	(void)channel_take(s->server, &s->frames_in, &s->frames_ended, &cut);
	translate(s);
}

/* A server that takes no more may still have answered why. */
static void tell_server(struct inspect *s)
{
	struct stage_buf *out = s->h2 ? &s->frames_out : &s->plain.to_server;

	if (s->h2)
		translate(s);
	if (channel_give(s->server, out) < 0)
		stage_buf_done(out);
}

static size_t held(const struct inspect *s, const struct stage_io *io)
{
	size_t h2 =
		s->h2 ? 23 * s->frames_in.len + 29 * s->frames_out.len + 31 * h2_up_held(s->h2) : 0;

	return h2 + s->plain.from_client.len + 3 * s->plain.to_client.len +
	       5 * s->plain.from_server.len + 7 * s->plain.to_server.len +
	       11 * io->from_client.len + 13 * io->to_client.len + 17 * io->from_server.len +
	       19 * io->to_server.len + s->plain.client_ended + 2 * s->plain.server_ended;
}

/* One round. *ret_next is for the gate when it is not STAGE_ON. */
static void round_once(struct inspect *s, struct stage_io *io, enum stage_next *ret_next)
{
	hear_client(s, io);
	if (s->server_ready)
		hear_server(s);
	*ret_next = run_inner(s);
	if (*ret_next == STAGE_ON && s->wants_server && io->server_open && !s->server_ready &&
	    !s->is_ending)
		*ret_next = reach_server(s, io);
	if (*ret_next != STAGE_ON || s->is_ending)
		return;
	if (tell_client(s, io) < 0)
		*ret_next = STAGE_ABORT;
	else if (s->server_ready)
		tell_server(s);
}

static enum stage_next run(struct stage *stage, struct stage_io *io)
{
	struct inspect *s = (struct inspect *)(void *)stage;
	enum stage_next next = STAGE_ON;
	size_t before;

	bind_sides(s, io);
	if (!s->inner) {
		int r = s->client ? channel_shake(s->client) : 1;

		if (r < 0)
			s->why = "the client's TLS handshake failed";
		if (r <= 0)
			return r == 0 && !io->client_ended ? STAGE_ON : STAGE_END;
		s->inner = s->with.make(s->with.arg, s->client && channel_is_h2(s->client));
		if (!s->inner)
			return STAGE_ABORT;
	}
	do {
		before = held(s, io);
		if (!s->is_ending)
			round_once(s, io, &next);
	} while (next == STAGE_ON && !s->is_ending && held(s, io) != before);
	if (next == STAGE_ON && s->is_ending)
		return last_words(s, io);
	if (next == STAGE_ABORT && !s->client)
		(void)tell_client(s, io); /* what there is: it shows that there is no more */
	if (next == STAGE_ON && s->wants_server && !io->server_open)
		return STAGE_SERVER;
	return next;
}

static enum stage_next no_server(struct stage *stage, struct stage_io *io, const char *why)
{
	struct inspect *s = (struct inspect *)(void *)stage;

	bind_sides(s, io);
	if (!s->inner ||
	    end_with(s, s->inner->ops->no_server(s->inner, &s->plain, why)) == STAGE_ABORT)
		return STAGE_ABORT;
	return last_words(s, io);
}

/* What TLS has not given up yet counts as said, whatever it would turn out to be. */
static bool part(struct stage *stage, struct stage_io *io, struct channel **ret)
{
	struct inspect *s = (struct inspect *)(void *)stage;
	struct stage_io *p = &s->plain;
	struct channel *none = NULL;
	bool good = s->server_ready && s->inner && s->inner->ops->part &&
		    s->inner->ops->part(s->inner, p, &none);

	if (HOLD_GATE_SPARE)
		good = good && io->from_server.len == 0 && io->to_server.len == 0 &&
		       !io->server_ended && channel_is_quiet(s->server) && s->frames_in.len == 0 &&
		       s->frames_out.len == 0 && !s->frames_ended &&
		       (!s->h2 || h2_up_is_idle(s->h2));
	*ret = s->server;
	s->server = NULL;
	s->h2 = NULL;
	s->frames_ended = false;
	stage_buf_done(&s->frames_in);
	stage_buf_done(&s->frames_out);
	s->server_ready = p->server_open = p->server_ended = p->server_cut = false;
	stage_buf_done(&p->from_server);
	stage_buf_done(&io->to_server); /* its own records */
	return good;
}

static void meet(struct stage *stage, struct stage_io *io, struct channel *taken)
{
	struct inspect *s = (struct inspect *)(void *)stage;

	assert(!s->server && s->inner && s->inner->ops->meet);
	(void)io;
	channel_move(taken, s->host);
	s->server = taken; /* its handshake is done, which reach_server() will see */
	s->inner->ops->meet(s->inner, &s->plain, NULL);
}

static void inspect_free(struct stage *stage)
{
	struct inspect *s = (struct inspect *)(void *)stage;

	channel_free(s->client);
	channel_free(s->server);
	if (s->inner)
		s->inner->ops->free(s->inner);
	stage_buf_done(&s->plain.from_client);
	stage_buf_done(&s->plain.to_client);
	stage_buf_done(&s->plain.from_server);
	stage_buf_done(&s->plain.to_server);
	stage_buf_done(&s->frames_in);
	stage_buf_done(&s->frames_out);
	free(s);
}

struct stage *inspect_new(struct authority *a, struct channel_roots *roots, const struct name *host,
			  const struct inspect_inner *inner)
{
	static const struct stage_ops ops = {run, no_server, inspect_free, part, meet};
	struct inspect *s = calloc(1, sizeof(*s));

	assert(roots && host && inner);
	if (!s)
		return NULL;
	s->stage.ops = &ops;
	s->with = *inner;
	s->roots = roots;
	s->host = host;
	s->client = a ? channel_accept(roots, a, host, inner->takes_h2) : NULL;
	if (a && !s->client) {
		inspect_free(&s->stage);
		return NULL;
	}
	return &s->stage;
}

const char *inspect_why(const struct stage *stage)
{
	return ((const struct inspect *)(const void *)stage)->why;
}
