/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1 as a stage, in the clear or inside TLS (gate_inspect.c). Every request is judged, also
 * the tenth of a connection, and is then written anew: what the server reads is what was judged,
 * with one framing and without what belongs to the client's own connection. The same for responses.
 * Where the sandbox has secrets, they are put in here, and taken out of what comes back.
 *
 *	HEAD ─► EXCHANGE ─► HEAD …
 *
 * In EXCHANGE the request's body goes one way and the response comes the other, in any order; the
 * next request is not looked at before both are whole. A WebSocket that both sides agree to is the
 * last exchange: behind it bytes are passed on (gate_tunnel.c).
 * gate_http_judge.c says if a request may go, gate_http_head.c writes heads, gate_http_body.c what is behind them, and
 * gate_http_answer.c reads responses.
 */
#include <stdlib.h>
#include <string.h>

#include "egress/gate_http.h"
#include "egress/hold.h"
#include "http/body.h"
#include "http/trailer.h"
#include "http/write.h"

bool http_stage_has_head(struct http_stage *s)
{
	if (!s->head && (s->head = malloc(sizeof(*s->head))))
		http_head_init(s->head);
	return s->head;
}

void http_stage_drop_head(struct http_stage *s)
{
	free(s->head);
	s->head = NULL;
}

/* The server that there is has ended, has said what nobody asked for, or knows us as another. */
static bool needs_other(const struct http_stage *s, const struct stage_io *io)
{
	const struct conn *c = s->conn;

	return io->server_ended || (HOLD_GATE_SPARE && io->from_server.len) ||
	       (HOLD_GATE_ERRAND && c->served.secrets != c->errand.secrets);
}

void http_stage_forget_again(struct http_stage *s)
{
	if (s->again)
		explicit_bzero(s->again, s->again_len);
	free(s->again);
	s->again = NULL;
}

/* The request that is on its way, in case that its server had ended. */
static void remember(struct http_stage *s, const struct stage_io *io)
{
	const struct stage_buf *b = &io->to_server;

	http_stage_forget_again(s);
	s->again = malloc(b->len ? b->len : 1);
	s->again_len = s->again ? b->len : 0;
	if (s->again_len)
		memcpy(s->again, b->data + b->start, b->len);
}

/* The request is written and waits. */
static enum stage_next begin_exchange(struct http_stage *s, struct stage_io *io)
{
	s->in_exchange = true;
	s->up_done = s->down_done = s->has_response = false;
	s->n_informal = 0;
	s->scan.len = 0;
	if (s->conn->box->replay.is_on)
		return STAGE_ON;
	if (io->server_open && needs_other(s, io)) {
		s->is_parting = true;
		return STAGE_OTHER;
	}
	/* One that answered before may have ended, and we have not heard of it yet. */
	if (io->server_open && s->conn->errand.may_repeat)
		remember(s, io);
	errand_begin(s->conn, !io->server_open);
	s->is_clean = false;
	return STAGE_SERVER;
}

static enum stage_next take_request(struct http_stage *s, struct stage_io *io)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	struct stage_buf *in = &io->from_client;
	struct http_error e;

	/* The last request is at its end: there is room again soon. */
	if (io->to_server.len || STAGE_BUF_MAX - io->to_client.len < HEAD_ROOM)
		return STAGE_ON;
	if (in->len == 0)
		return io->client_ended || io->server_ended ? STAGE_END : STAGE_ON;
	if (!http_stage_has_head(s))
		return STAGE_ABORT;
	int used = http_head_parse(s->head, in->data + in->start, in->len, HTTP_REQUEST, &e);
	if (used == 0)
		return io->client_ended ? STAGE_ABORT : STAGE_ON;
	if (used < 0)
		return http_stage_refuse(io, e.status, e.why);
	enum stage_next next = HOLD_GATE_EACH || !s->conn->server_open
				       ? http_stage_judge(s, io, (size_t)used)
				       : STAGE_ON;
	if (next == STAGE_WAIT) {
		http_stage_drop_head(s); /* it is read again when he has answered */
		return STAGE_ON;
	}
	if (next != STAGE_ON)
		return next;
	if (http_body_of_request(&s->up, s->head, UINT64_MAX, &e) < 0 ||
	    tunnel_ask(&s->tunnel, s->head, &e) < 0)
		return http_stage_refuse(io, e.status, e.why);
	s->conn->row =
		box_row(s->conn->box, s->conn->host.text, s->conn->port, GATE_ALLOWED, s->rule);
	s->method = s->head->method;
	s->keeps = s->head->keep_alive && !s->is_proxy;
	s->is_old = s->head->minor == 0;
	s->wants_trailers = !s->is_old && http_head_lists(s->head, "te", "trailers");
	/* Where the gate says who asks, nothing comes behind what was judged. */
	if (s->up.kind == HTTP_BODY_CHUNKED && !s->is_brokered)
		s->up.kept = s->up_kept = malloc(HTTP_TRAILERS_ROOM);
	s->server_keeps = s->keeps || spare_may(s->conn);
	if (http_stage_write_request(s, io) < 0 ||
	    !taped_begin(&s->taped, s->conn, s->head,
			 egress_protocol_name(http_stage_spoken(s->conn))))
		return http_stage_refuse(io, 400, "the request cannot be passed on");
	if (s->head->expect_continue && stage_put(&io->to_client, go_on, sizeof(go_on) - 1) < 0)
		return STAGE_ABORT;
	stage_took(in, (size_t)used);
	http_stage_drop_head(s);
	return begin_exchange(s, io);
}

static enum stage_next exchange(struct http_stage *s, struct stage_io *io)
{
	if (!s->up_done) {
		int r = http_stage_pump(s, &s->up, &io->from_client, &io->to_server,
					s->up.kind == HTTP_BODY_CHUNKED);

		if (r < 0 || (r == 0 && io->client_ended && io->from_client.len == 0))
			return STAGE_ABORT;
		s->up_done = r > 0;
	}
	if (s->conn->box->replay.is_on) {
		stage_buf_done(&io->to_server); /* nobody is there */
		if (!s->up_done)
			return STAGE_ON;
		if (!taped_answer(&s->taped, s->conn, io))
			return http_stage_refuse(io, 502,
						 "the recording has no answer to this request");
	} else if (!io->server_open) {
		return STAGE_SERVER;
	}
	if (s->tunnel.is_open)
		return tunnel_run(&s->tunnel, s->conn, s->redact, io);
	enum stage_next next = http_stage_take_answer(s, io);
	if (next != STAGE_ON || !s->down_done)
		return next;
	if (s->up_done)
		taped_end(&s->taped, s->conn);
	/* A server that answers before it has all will not take the rest. */
	if (!s->up_done)
		return STAGE_END;
	http_stage_drop_trailers(s);
	s->in_exchange = false;
	s->is_clean = s->server_keeps && s->down.kind != HTTP_BODY_TO_END;
	return s->keeps ? STAGE_ON : STAGE_END;
}

static enum stage_next run(struct stage *stage, struct stage_io *io)
{
	struct http_stage *s = (struct http_stage *)(void *)stage;

	return s->in_exchange ? exchange(s, io) : take_request(s, io);
}

static void http_stage_free(struct stage *stage)
{
	struct http_stage *s = (struct http_stage *)(void *)stage;

	http_stage_forget_again(s);
	http_stage_drop_head(s);
	http_stage_drop_trailers(s);
	noted_drop(&s->noted);
	redact_free(s->redact);
	free(s);
}

/* What is in to_server when another is wanted is the next request, of which this one had
 * nothing. */
static bool part(struct stage *stage, struct stage_io *io, struct channel **ret)
{
	struct http_stage *s = (struct http_stage *)(void *)stage;
	bool idle = s->is_parting || (!s->in_exchange && io->to_server.len == 0);
	bool silent = io->from_server.len == 0 && !io->server_ended;

	*ret = NULL;
	s->is_parting = false;
	return !HOLD_GATE_SPARE || (idle && silent && s->is_clean);
}

static void meet(struct stage *stage, struct stage_io *io, struct channel *taken)
{
	struct http_stage *s = (struct http_stage *)(void *)stage;

	(void)taken; /* it is those around us who speak TLS */
	remember(s, io);
}

struct stage *http_stage_new(struct conn *c, bool is_proxy)
{
	static const struct stage_ops ops = {run, http_stage_no_server, http_stage_free, part,
					     meet};
	struct http_stage *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->stage.ops = &ops;
	s->conn = c;
	s->is_proxy = is_proxy;
	if (HOLD_GATE_REDACT && c->box->secrets && !(s->redact = redact_new(c->box->secrets))) {
		free(s);
		return NULL;
	}
	return &s->stage;
}
