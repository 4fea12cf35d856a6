/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/2 of a client in the gate: each stream is a lane, which is a connection of its own in all
 * but its client's socket. It has its own server, deadline, question to a person and row in the
 * record, and reads HTTP/1.1 as any other (gate_http.c), so there is nothing that a stream could
 * have judged otherwise. Servers are spoken to by HTTP/2, too, where they can (h2_up.c), on
 * as many connections as there are streams at once; a lane that is done waits for the next.
 *
 * A lane that ends tells its client's connection; a connection that ends leaves its lanes as
 * orphans, who close in their own turn: whoever walks the list of connections may close this one.
 */
#include <stdlib.h>

#include "base/fd.h"
#include "egress/gate_int.h"
#include "egress/h2.h"

struct mux {
	struct stage stage;
	struct conn *conn; /* borrowed: it owns us */
	struct h2 *h2;
	struct conn *lanes[H2_STREAMS_MAX]; /* borrowed */
	bool is_idle[H2_STREAMS_MAX];
};

/* The place of a lane, or -1. */
static int place_of(const struct mux *m, const struct stage_io *io)
{
	for (unsigned i = 0; i < H2_STREAMS_MAX; i++)
		if (m->lanes[i] && &m->lanes[i]->io == io)
			return (int)i;
	return -1;
}

static struct stage *read_lane(void *arg, bool is_h2)
{
	(void)is_h2;
	return http_stage_new(arg, false);
}

static bool is_open(const struct conn *c)
{
	return c->state == CONN_STAGE && !c->is_ending && !c->io.server_ended;
}

static struct stage_io *open_lane(void *arg, bool *ret_never)
{
	struct mux *m = arg;
	int free_at = -1;
	unsigned n = 0;

	for (unsigned i = 0; i < H2_STREAMS_MAX; i++) {
		n += m->lanes[i] != NULL;
		if (!m->lanes[i])
			free_at = (int)i;
		if (!m->lanes[i] || !m->is_idle[i] || !is_open(m->lanes[i]))
			continue;
		m->is_idle[i] = false;
		return &m->lanes[i]->io;
	}
	struct conn *c = free_at >= 0 ? conn_lane(m->conn) : NULL;
	/* While others of this client end, there will be room. */
	*ret_never = !c && n == 0;
	if (!c)
		return NULL;
	c->lane_of = m;
	m->lanes[free_at] = c;
	m->is_idle[free_at] = false;
	struct inspect_inner inner = {read_lane, c, false, true, c->box->sessions, c->port};
	if (stage_begin(c, inspect_new(NULL, gate.roots, &c->host, &inner)) < 0) {
		conn_abort(c);
		*ret_never = true;
		return NULL;
	}
	return &c->io;
}

static void lane_moved(void *arg, struct stage_io *io)
{
	const struct mux *m = arg;
	int at = place_of(m, io);

	if (at >= 0)
		conn_busy(m->lanes[at]);
}

static void close_lane(void *arg, struct stage_io *io, bool is_whole)
{
	struct mux *m = arg;
	int at = place_of(m, io);

	if (at < 0)
		return;
	struct conn *c = m->lanes[at];
	if (is_whole && is_open(c)) {
		m->is_idle[at] = true;
		return;
	}
	m->lanes[at] = NULL;
	c->lane_of = NULL;
	conn_abort(c);
}

void mux_lost(struct conn *lane)
{
	struct mux *m = lane->lane_of;
	int at = place_of(m, &lane->io);

	lane->lane_of = NULL;
	if (at < 0)
		return;
	m->lanes[at] = NULL;
	if (m->h2)
		h2_lost(m->h2, &lane->io);
	conn_busy(m->conn);
}

void mux_end(struct mux *m)
{
	for (unsigned i = 0; i < H2_STREAMS_MAX; i++) {
		struct conn *c = m->lanes[i];

		if (!c)
			continue;
		m->lanes[i] = NULL;
		c->lane_of = NULL;
		c->is_orphan = true;
		conn_busy(c);
	}
}

void mux_wake(const struct mux *m)
{
	conn_busy(m->conn);
}

bool mux_is_used(const struct mux *m)
{
	return h2_streams(m->h2) > 0;
}

static enum stage_next run(struct stage *stage, struct stage_io *io)
{
	struct mux *m = (struct mux *)(void *)stage;
	enum stage_next next = h2_run(m->h2, io);

	if (mux_is_used(m))
		conn_deadline(m->conn, IDLE_MS); /* its lanes have their own, which are shorter */
	return next;
}

/* It wants none. */
static enum stage_next no_server(struct stage *stage, struct stage_io *io, const char *why)
{
	(void)stage;
	(void)io;
	(void)why;
	return STAGE_ABORT;
}

static void mux_free(struct stage *stage)
{
	struct mux *m = (struct mux *)(void *)stage;

	mux_end(m);
	h2_free(m->h2);
	free(m);
}

struct stage *mux_stage_new(struct conn *c)
{
	static const struct stage_ops ops = {.run = run, .no_server = no_server, .free = mux_free};
	static const struct h2_ops h2_ops = {open_lane, lane_moved, close_lane};
	struct mux *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->stage.ops = &ops;
	m->conn = c;
	m->h2 = h2_new(&h2_ops, m);
	if (!m->h2) {
		free(m);
		return NULL;
	}
	/* It has no server: its lanes count as connections. */
	if (c->is_counted && c->account)
		c->account->conns--;
	c->is_counted = false;
	c->mux = m;
	return &m->stage;
}
