/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1 as a stage, in the clear or inside TLS (gate_inspect.c). Every request is judged, also the
 * tenth of a connection, and is then written anew: what the server reads is what was judged, with one
 * framing and without what belongs to the client's own connection. The same for responses. Where the
 * sandbox has secrets, they are put in here, and taken out of what comes back.
 *
 *	HEAD ─► EXCHANGE ─► HEAD …
 *
 * In EXCHANGE the request's body goes one way and the response comes the other, in any order; the
 * next request is not looked at before both are whole.
 */
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "egress/gate_int.h"
#include "egress/target.h"
#include "http/body.h"
#include "http/target.h"
#include "http/write.h"

#define HEAD_ROOM (HTTP_HEAD_MAX + 1024)
#define CHUNK_ROOM 64u	/* around a chunk */
#define INFORMAL_MAX 16 /* responses before the response */

struct http_stage {
	struct stage stage;
	struct conn *conn; /* borrowed: it owns us */
	bool is_proxy;
	bool in_exchange;
	struct http_head head; /* of the request, then of the response */
	struct http_body up, down;
	bool up_done, down_done, has_response;
	bool keeps, is_old; /* the client's connection stays; it speaks HTTP/1.0 */
	enum http_method method;
	unsigned n_informal;
	struct egress_inject inject[EGRESS_INJECTS_MAX]; /* of this request; borrowed */
	unsigned n_inject;
	struct secret_scan scan;
	struct redact *redact; /* owned; NULL: the sandbox has no secrets */
};

static enum stage_next refuse(struct stage_io *io, unsigned status, const char *text)
{
	char head[512], body[600];
	struct http_out o;
	int n = snprintf(body, sizeof(body), "pinfold: %.500s\n", text);

	http_out_init(&o, head, sizeof(head));
	http_out_status(&o, status);
	http_out_field(&o, "Content-Type", "text/plain; charset=utf-8");
	http_out_field_u64(&o, "Content-Length", (uint64_t)n);
	http_out_field(&o, "Connection", "close");
	int len = http_out_end(&o);
	if (len < 0 || stage_put(&io->to_client, head, (size_t)len) < 0 ||
	    stage_put(&io->to_client, body, (size_t)n) < 0)
		return STAGE_ABORT;
	return STAGE_END;
}

static enum stage_next no_server(struct stage *stage, struct stage_io *io, const char *why)
{
	const struct conn *c = ((struct http_stage *)(void *)stage)->conn;
	char what[192];

	/* Of one that was reached its certificate may be at fault, which is worth a line. */
	if (c->server_open) {
		(void)snprintf(what, sizeof(what), "connect %.80s:%u: %.80s", c->host.text, c->port,
			       why);
		box_deny(c->box, &c->host, c->port, what, "certificate",
			 "the server's certificate is not valid for its name; nothing was sent");
	}
	return refuse(io, 502, why);
}

/* Of a proxy the request says where to. */
static bool choose(struct http_stage *s, const struct name *host, const struct egress_request *q,
		   struct egress_verdict *v)
{
	struct conn *c = s->conn;

	if (!s->is_proxy)
		return true;
	c->host = *host;
	c->port = q->port;
	if (!conn_decide(c, v))
		return false;
	if (c->protocol == EGRESS_HTTP)
		return true;
	box_deny(c->box, &c->host, c->port, NULL, v->name,
		 "on this port the policy wants another protocol than http");
	(void)snprintf(v->hint, sizeof(v->hint), "this host and port are not for plain http");
	return false;
}

static enum egress_protocol spoken(const struct conn *c)
{
	return c->protocol == EGRESS_HTTPS ? EGRESS_HTTPS : EGRESS_HTTP;
}

/* STAGE_ON: it may be sent. STAGE_WAIT: a person is asked first. */
static enum stage_next judge(struct http_stage *s, struct stage_io *io, size_t head_len)
{
	struct conn *c = s->conn;
	struct name host;
	struct egress_request q;
	struct egress_verdict v = {.hint = ""};
	const char *why = "malformed";
	char what[192];

	if (s->head.method == HTTP_CONNECT)
		return refuse(io, 405, "CONNECT is for the proxy's port");
	if (target_of_request(&s->head, s->is_proxy ? NULL : &c->host, c->port, spoken(c), &host,
			      &q, &why) < 0) {
		(void)snprintf(what, sizeof(what), "request to %.100s:%u: %.60s",
			       s->is_proxy ? "the proxy" : c->host.text, c->port, why);
		if (!s->is_proxy)
			box_deny(c->box, &c->host, c->port, what, "http", why);
		return refuse(io, 403, why);
	}
	if (!choose(s, &host, &q, &v))
		return c->is_asking ? STAGE_WAIT
				    : refuse(io, 403, v.hint[0] ? v.hint : "not allowed");
	policy_decide(c->box->policy, &q, &v);
	(void)snprintf(what, sizeof(what), "%.*s %s://%.80s%.*s", (int)q.method_len, q.method,
		       egress_protocol_name(spoken(c)), host.text,
		       (int)(q.path_len < 60 ? q.path_len : 60), q.path);
	if (v.action == EGRESS_ASK && conn_ask(c, what, &v) != ASKED_YES)
		return c->is_asking ? STAGE_WAIT
				    : refuse(io, 403, "a person would have to allow it");
	if (v.action == EGRESS_DENY) {
		box_deny(c->box, &c->host, c->port, what, v.name, v.hint);
		return refuse(io, 403, v.hint);
	}
	if (v.limits.header_bytes && head_len > v.limits.header_bytes)
		return refuse(io, 431, "the head is longer than the rule allows");
	if (!conn_request(c, &v))
		return refuse(io, 429, "too many requests in this minute for the rule");
	const char *against = secrets_judge(c, &s->head, &v);
	if (against)
		return refuse(io, 403, against);
	memcpy(s->inject, v.inject, sizeof(s->inject));
	s->n_inject = v.n_inject;
	return STAGE_ON;
}

static void put_host(struct http_out *o, const struct conn *c)
{
	char text[NAME_SIZE + 16];
	bool ip6 = c->host.kind == NAME_IP6;

	(void)snprintf(text, sizeof(text), "%s%s%s", ip6 ? "[" : "", c->host.text, ip6 ? "]" : "");
	if (c->port != (spoken(c) == EGRESS_HTTPS ? 443 : 80))
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), ":%u", c->port);
	http_out_field(o, "Host", text);
}

static void copy_fields(const struct http_stage *s, struct http_out *o, const struct http_head *h)
{
	bool drops = s->redact && h->status == 0;

	for (unsigned i = 0; i < h->n_fields; i++) {
		const struct http_field *f = &h->fields[i];

		if (!http_field_is_hop(h, f) && !http_field_is(f, "host") &&
		    !http_field_is(f, "content-length") && !http_field_is(f, "expect") &&
		    !(drops && secret_drops(f, s->inject, s->n_inject)))
			http_out_copy(o, f);
	}
}

static bool in_query(const struct http_stage *s)
{
	for (unsigned i = 0; i < s->n_inject; i++)
		if (s->inject[i].where == EGRESS_QUERY)
			return true;
	return false;
}

/* Path and query as they came: those were judged. */
static void put_line(const struct http_stage *s, struct http_out *o, const struct http_head *h)
{
	char method[HTTP_METHOD_MAX + 1], target[HTTP_LINE_MAX + 2];
	struct http_target t;
	int n;

	(void)snprintf(method, sizeof(method), "%.*s", (int)h->method_len, h->method_text);
	http_target_split(h, &t);
	if (h->form == HTTP_ASTERISK)
		n = snprintf(target, sizeof(target), "*");
	else if (in_query(s))
		n = secret_target(s->conn->box->secrets, h, s->inject, s->n_inject, target,
				  sizeof(target));
	else
		n = snprintf(target, sizeof(target), "%.*s%s%.*s", t.path_len ? (int)t.path_len : 1,
			     t.path_len ? t.path : "/", t.query ? "?" : "", (int)t.query_len,
			     t.query ? t.query : "");
	if (n < 0)
		o->error = -EMSGSIZE;
	else
		http_out_request(o, method, target, (size_t)n);
	explicit_bzero(target, sizeof(target));
}

static int write_request(struct http_stage *s, struct stage_io *io)
{
	static char buf[HEAD_ROOM];
	const struct http_head *h = &s->head;
	struct http_out o;

	http_out_init(&o, buf, sizeof(buf));
	put_line(s, &o, h);
	put_host(&o, s->conn);
	copy_fields(s, &o, h);
	secret_put(s->conn->box->secrets, s->inject, s->n_inject, &o);
	if (h->content_length >= 0)
		http_out_field_u64(&o, "Content-Length", (uint64_t)h->content_length);
	if (h->chunked)
		http_out_field(&o, "Transfer-Encoding", "chunked");
	if (!s->keeps)
		http_out_field(&o, "Connection", "close");
	int n = http_out_end(&o);
	if (n >= 0)
		n = stage_put(&io->to_server, buf, (size_t)n);
	explicit_bzero(buf, s->n_inject ? sizeof(buf) : 0);
	return n;
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
	int used = http_head_parse(&s->head, in->data + in->start, in->len, HTTP_REQUEST, &e);
	if (used == 0)
		return io->client_ended ? STAGE_ABORT : STAGE_ON;
	if (used < 0)
		return refuse(io, e.status, e.why);
	enum stage_next next = judge(s, io, (size_t)used);
	if (next == STAGE_WAIT) {
		http_head_init(&s->head); /* it is read again when he has answered */
		return STAGE_ON;
	}
	if (next != STAGE_ON)
		return next;
	if (http_body_of_request(&s->up, &s->head, UINT64_MAX, &e) < 0)
		return refuse(io, e.status, e.why);
	s->method = s->head.method;
	s->keeps = s->head.keep_alive && !s->is_proxy;
	s->is_old = s->head.minor == 0;
	if (write_request(s, io) < 0)
		return refuse(io, 400, "the request cannot be passed on");
	if (s->head.expect_continue && stage_put(&io->to_client, go_on, sizeof(go_on) - 1) < 0)
		return STAGE_ABORT;
	stage_took(in, (size_t)used);
	http_head_init(&s->head);
	s->in_exchange = true;
	s->up_done = s->down_done = s->has_response = false;
	s->n_informal = 0;
	s->scan.len = 0;
	return STAGE_SERVER;
}

static int put_chunk(struct stage_buf *out, const char *data, size_t len)
{
	char head[HTTP_CHUNK_HEAD_MAX];
	size_t n = http_chunk_head(head, len);

	return stage_put(out, head, n) < 0 || stage_put(out, data, len) < 0 ||
			       stage_put(out, "\r\n", 2) < 0
		       ? -ENOSPC
		       : 0;
}

static int put_part(struct stage_buf *out, const char *data, size_t len, bool chunks)
{
	if (len == 0)
		return 0;
	return chunks ? put_chunk(out, data, len) : stage_put(out, data, len);
}

/* A part of an answer, without the values of secrets; `last`: with what was held back. */
static int put_redacted(struct redact *r, struct stage_buf *out, const char *data, size_t len,
			bool chunks, bool last)
{
	static char room[STAGE_BUF_MAX + 2 * REDACT_FORM_MAX];
	size_t n = redact_feed(r, data, len, room);

	if (last)
		n += redact_end(r, room + n);
	return put_part(out, room, n, chunks);
}

/* As much of a body as there is and as fits, framed anew. 1: it is whole. 0: not yet. -1: bad. */
static int pump(struct http_stage *s, struct http_body *b, struct stage_buf *in,
		struct stage_buf *out, bool chunks)
{
	bool up = b == &s->up;
	size_t around = CHUNK_ROOM + (!up && s->redact ? REDACT_FORM_MAX : 0);

	for (;;) {
		struct http_error e;
		const char *data;
		size_t used = 0, len = 0;
		size_t room = STAGE_BUF_MAX - out->len, n = in->len;

		if (room <= around)
			return 0;
		if (n > room - around)
			n = room - around;
		int r = http_body_feed(b, n ? in->data + in->start : "", n, &used, &data, &len, &e);
		if (r < 0)
			return -1;
		if (up && secret_scan(&s->scan, s->conn->box->secrets, data, len)) {
			secrets_alarm(s->conn, "body");
			return -1;
		}
		if ((!up && s->redact ? put_redacted(s->redact, out, data, len, chunks, r > 0)
				      : put_part(out, data, len, chunks)) < 0)
			return -1;
		if (used)
			stage_took(in, used);
		if (r > 0 && chunks &&
		    stage_put(out, HTTP_CHUNK_END, sizeof(HTTP_CHUNK_END) - 1) < 0)
			return -1;
		if (r > 0)
			return 1;
		if (in->len == 0)
			return 0;
	}
}

static bool sends_chunks(const struct http_stage *s)
{
	return !s->is_old &&
	       (s->down.kind == HTTP_BODY_CHUNKED || s->down.kind == HTTP_BODY_TO_END);
}

static int write_response(struct http_stage *s, struct stage_io *io)
{
	static char buf[HEAD_ROOM];
	const struct http_head *h = &s->head;
	struct http_out o;
	bool endless = s->down.kind == HTTP_BODY_CHUNKED || s->down.kind == HTTP_BODY_TO_END;

	if (!h->keep_alive || (s->is_old && endless) || s->down.kind == HTTP_BODY_TO_END)
		s->keeps = false;
	http_out_init(&o, buf, sizeof(buf));
	http_out_status(&o, h->status);
	copy_fields(s, &o, h);
	if (h->content_length >= 0)
		http_out_field_u64(&o, "Content-Length", (uint64_t)h->content_length);
	if (sends_chunks(s))
		http_out_field(&o, "Transfer-Encoding", "chunked");
	if (!s->keeps)
		http_out_field(&o, "Connection", "close");
	int n = http_out_end(&o);
	if (n >= 0 && s->redact)
		(void)redact_whole(s->redact, buf, (size_t)n);
	return n < 0 ? n : stage_put(&io->to_client, buf, (size_t)n);
}

/* 1: there is one. 0: not yet. -1: the server makes no sense. */
static int take_response(struct http_stage *s, struct stage_io *io)
{
	struct stage_buf *in = &io->from_server;
	struct http_error e;

	for (;;) {
		if (in->len == 0 || STAGE_BUF_MAX - io->to_client.len < HEAD_ROOM)
			return 0;
		int used =
			http_head_parse(&s->head, in->data + in->start, in->len, HTTP_RESPONSE, &e);
		if (used <= 0)
			return used < 0 ? -1 : 0;
		bool informal = s->head.status < 200;
		/* What is packed cannot be looked into; nobody asked for it. */
		if (s->redact && http_head_field(&s->head, "content-encoding") &&
		    !http_head_lists(&s->head, "content-encoding", "identity"))
			return -1;
		if (informal && (s->head.status == 101 || ++s->n_informal > INFORMAL_MAX))
			return -1;
		if (!informal &&
		    (http_body_of_response(&s->down, &s->head, s->method, UINT64_MAX, &e) < 0 ||
		     write_response(s, io) < 0))
			return -1;
		stage_took(in, (size_t)used);
		http_head_init(&s->head);
		if (!informal)
			return 1;
	}
}

static enum stage_next broken(const struct http_stage *s, struct stage_io *io)
{
	if (s->has_response)
		return STAGE_ABORT; /* the client sees that it is not whole */
	return refuse(io, 502, "the server's answer is no good HTTP");
}

static enum stage_next take_answer(struct http_stage *s, struct stage_io *io)
{
	struct http_error e;

	if (!s->has_response) {
		int r = take_response(s, io);

		if (r < 0 || (r == 0 && io->server_ended && io->to_client.len == 0))
			return broken(s, io);
		s->has_response = r > 0;
	}
	if (!s->has_response || s->down_done)
		return STAGE_ON;
	int r = pump(s, &s->down, &io->from_server, &io->to_client, sends_chunks(s));
	if (r == 0 && io->server_ended && io->from_server.len == 0) {
		if (http_body_eof(&s->down, &e) < 0 || io->server_cut)
			return STAGE_ABORT;
		if (STAGE_BUF_MAX - io->to_client.len < REDACT_FORM_MAX + CHUNK_ROOM)
			return STAGE_ON; /* no room yet */
		if (s->redact &&
		    put_redacted(s->redact, &io->to_client, "", 0, sends_chunks(s), true) < 0)
			return STAGE_ABORT;
		if (sends_chunks(s) &&
		    stage_put(&io->to_client, HTTP_CHUNK_END, sizeof(HTTP_CHUNK_END) - 1) < 0)
			return STAGE_ON; /* no room yet */
		r = 1;
	}
	if (r < 0)
		return STAGE_ABORT;
	s->down_done = r > 0;
	return STAGE_ON;
}

static enum stage_next exchange(struct http_stage *s, struct stage_io *io)
{
	if (!s->up_done) {
		int r = pump(s, &s->up, &io->from_client, &io->to_server,
			     s->up.kind == HTTP_BODY_CHUNKED);

		if (r < 0 || (r == 0 && io->client_ended && io->from_client.len == 0))
			return STAGE_ABORT;
		s->up_done = r > 0;
	}
	if (!io->server_open)
		return STAGE_SERVER;
	enum stage_next next = take_answer(s, io);
	if (next != STAGE_ON || !s->down_done)
		return next;
	/* A server that answers before it has all will not take the rest. */
	if (!s->up_done || !s->keeps)
		return STAGE_END;
	s->in_exchange = false;
	return STAGE_ON;
}

static enum stage_next run(struct stage *stage, struct stage_io *io)
{
	struct http_stage *s = (struct http_stage *)(void *)stage;

	return s->in_exchange ? exchange(s, io) : take_request(s, io);
}

static void http_stage_free(struct stage *stage)
{
	redact_free(((struct http_stage *)(void *)stage)->redact);
	free(stage);
}

struct stage *http_stage_new(struct conn *c, bool is_proxy)
{
	static const struct stage_ops ops = {run, no_server, http_stage_free};
	struct http_stage *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->stage.ops = &ops;
	s->conn = c;
	s->is_proxy = is_proxy;
	http_head_init(&s->head);
	if (c->box->secrets && !(s->redact = redact_new(c->box->secrets))) {
		free(s);
		return NULL;
	}
	return &s->stage;
}
