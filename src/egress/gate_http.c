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
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/fd.h"
#include "egress/gate_int.h"
#include "egress/hold.h"
#include "egress/target.h"
#include "http/body.h"
#include "http/target.h"
#include "http/trailer.h"
#include "http/write.h"

#define HEAD_ROOM (HTTP_HEAD_MAX + 1024)
#define CHUNK_ROOM 128u /* around a chunk, or the lines behind the last */
#define INFORMAL_MAX 16 /* responses before the response */

struct http_stage {
	struct stage stage;
	struct conn *conn; /* borrowed: it owns us */
	bool is_proxy;
	bool in_exchange;
	struct http_head *head; /* of the request, then of the response; owned; NULL: none is read */
	struct http_body up, down;
	char *up_kept, *down_kept; /* their trailers; owned; NULL: they are dropped */
	uint32_t head_max;	   /* of the request, by the rule; 0: any */
	bool wants_trailers;	   /* the client does */
	bool up_done, down_done, has_response;
	bool keeps, is_old; /* the client's connection stays; it speaks HTTP/1.0 */
	bool server_keeps;  /* so does the server's */
	bool is_clean;	    /* the last exchange was whole on the server's side, and it stays */
	bool is_parting;    /* the request is for another server than there is */
	char *again;	    /* it, while a server that answered before has not answered; owned */
	size_t again_len;
	enum http_method method;
	unsigned n_informal;
	struct egress_inject inject[EGRESS_INJECTS_MAX]; /* of this request; borrowed */
	unsigned n_inject;
	const char *rule;     /* that allows it; borrowed from the policy */
	bool is_brokered;     /* the gate has a secret for its host */
	struct tunnel tunnel; /* wanted by this request, or open */
	struct secret_scan scan;
	struct redact *redact; /* owned; NULL: the sandbox has no secrets */
	struct taped taped;
	struct noted noted;
};

/* Heads are large, and most connections wait. False: no memory. */
static bool has_head(struct http_stage *s)
{
	if (!s->head && (s->head = malloc(sizeof(*s->head))))
		http_head_init(s->head);
	return s->head;
}

static void drop_head(struct http_stage *s)
{
	free(s->head);
	s->head = NULL;
}

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
	static const char head[] = "HTTP/1.1 502 Bad Gateway\r\n"
				   "Content-Type: text/plain; charset=utf-8\r\n";
	struct http_stage *s = (struct http_stage *)(void *)stage;
	struct conn *c = s->conn;
	char what[192], text[600];

	noted_end(&s->noted, c, 502);
	/* Of one that was reached its certificate may be at fault, which is worth a line. */
	if (c->server_open) {
		(void)snprintf(what, sizeof(what), "connect %.80s:%u: %.80s", c->host.text, c->port,
			       why);
		box_deny(c->box, &c->host, c->port, what, "certificate",
			 "the server's certificate is not valid for its name; nothing was sent");
	}
	if (s->taped.is_on && (s->up_done || s->up.kind == HTTP_BODY_NONE)) {
		int n = snprintf(text, sizeof(text), "pinfold: %.500s\n", why);

		taped_head(&s->taped, c, head, sizeof(head) - 1, false);
		taped_data(&s->taped, c, text, (size_t)n);
		taped_end(&s->taped, c);
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
	/* Where anything may be said, so may a request. */
	if (c->protocol == EGRESS_TCP)
		c->protocol = EGRESS_HTTP;
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

/* What decides if the request is also this one: the stricter of both. */
static void also(const struct conn *c, const struct egress_request *other, struct egress_request *q,
		 struct egress_verdict *v, char method[TARGET_METHOD_SIZE])
{
	struct egress_verdict w;

	policy_decide(c->box->policy, other, &w);
	if (w.action == EGRESS_ALLOW || w.action > v->action)
		return;
	*v = w;
	q->path = other->path;
	q->path_len = other->path_len;
	if (other->method != q->method) { /* it may be in a buffer that changes */
		q->method_len =
			other->method_len < HTTP_METHOD_MAX ? other->method_len : HTTP_METHOD_MAX;
		q->method = memcpy(method, other->method, q->method_len);
	}
}

/* A method or a path that stands in a field counts as much as the one that is spoken: the rules
 * must allow both. *q becomes the one that decides. */
static void decide(const struct conn *c, const struct http_head *h, struct egress_request *q,
		   struct egress_verdict *v, char method[TARGET_METHOD_SIZE])
{
	const struct egress_request spoken = *q;
	struct egress_request other = *q;
	char name[TARGET_METHOD_SIZE];
	unsigned path_at = 0;

	policy_decide(c->box->policy, q, v);
	if (!HOLD_GATE_OVERRIDE)
		return;
	do {
		unsigned at = 0;

		other.method = spoken.method;
		other.method_len = spoken.method_len;
		if (path_at)
			also(c, &other, q, v, method);
		while (target_override(h, &at, name)) {
			other.method = name;
			other.method_len = strlen(name);
			also(c, &other, q, v, method);
		}
	} while (target_override_path(h, &path_at, &other.path, &other.path_len));
}

/* False: he was not, or said no. */
static bool is_asked(struct conn *c, const struct http_head *h, const struct egress_request *q,
		     const struct egress_verdict *v)
{
	struct question asked;
	bool waited = c->is_asking;

	question_request(c, h, q, &asked);
	enum asked said = conn_ask(c, &asked, v);
	if (said == ASKED_WAIT && !waited)
		noted_refused(c->box, row_of(c->box, c->host.text, c->port, GATE_PENDING, v->name),
			      q, 0);
	return said == ASKED_YES;
}

/* The same for one that was denied; it is among the requests of that row. */
static enum stage_next turn_away(struct conn *c, struct stage_io *io,
				 const struct egress_request *q, unsigned status, const char *text)
{
	noted_refused(c->box, c->box->denied, q, status);
	return refuse(io, status, text);
}

/* STAGE_ON: it may be sent. STAGE_WAIT: a person is asked first. */
static enum stage_next judge(struct http_stage *s, struct stage_io *io, size_t head_len)
{
	struct conn *c = s->conn;
	struct name host;
	struct egress_request q;
	struct egress_verdict v = {.hint = ""};
	const char *why = "malformed";
	char what[GATE_WHAT_SIZE], method[TARGET_METHOD_SIZE];

	if (s->head->method == HTTP_CONNECT)
		return refuse(io, 405, "CONNECT is for the proxy's port");
	if (target_is_websocket(s->head))
		return refuse(io, 405, "WEBSOCKET is what rules call it; it is opened by GET");
	if (target_of_request(s->head, s->is_proxy ? NULL : &c->host, c->port, spoken(c), &host, &q,
			      &why) < 0) {
		(void)snprintf(what, sizeof(what), "request to %.100s:%u: %.60s",
			       s->is_proxy ? "the proxy" : c->host.text, c->port, why);
		if (!s->is_proxy)
			box_deny(c->box, &c->host, c->port, what, "http", why);
		return refuse(io, 403, why);
	}
	if (!choose(s, &host, &q, &v))
		return c->is_asking ? STAGE_WAIT
				    : refuse(io, 403, v.hint[0] ? v.hint : "not allowed");
	decide(c, s->head, &q, &v, method);
	if (v.action == EGRESS_ASK && !is_asked(c, s->head, &q, &v))
		return c->is_asking ? STAGE_WAIT
				    : turn_away(c, io, &q, 403, "a person would have to allow it");
	if (v.action == EGRESS_DENY) {
		request_text(c, &q, NULL, 0, what); /* never its query: that is on record */
		box_deny(c->box, &c->host, c->port, what, v.name, v.hint);
		return turn_away(c, io, &q, 403, v.hint);
	}
	if (v.limits.header_bytes && head_len > v.limits.header_bytes) {
		box_deny(c->box, &c->host, c->port, NULL, v.name,
			 "the head of a request is longer than the rule allows");
		return turn_away(c, io, &q, 431, "the head is longer than the rule allows");
	}
	if (!conn_request(c, &v))
		return turn_away(c, io, &q, 429, "there were as many requests as are allowed");
	const char *against = secrets_judge(c, s->head, &v);
	if (against)
		return turn_away(c, io, &q, 403, against);
	memcpy(s->inject, v.inject, sizeof(s->inject));
	s->n_inject = v.n_inject;
	s->rule = v.name;
	s->head_max = v.limits.header_bytes;
	s->is_brokered = v.is_brokered;
	errand_set(c, &v, s->head);
	noted_begin(&s->noted, &q);
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

/* Who is known by a secret of the gate's needs none, and could not send it back. */
static bool is_set_cookie(const struct http_field *f)
{
	return http_field_is(f, "set-cookie") || http_field_is(f, "set-cookie2");
}

/* What would frame for a reader that takes X_Y for X-Y, and did not for ours. */
static bool is_disguised(const struct http_field *f)
{
	static const char *const names[] = {"content-length",	"transfer-encoding",
					    "proxy-connection", "keep-alive",
					    "http2-settings",	"proxy-authorization"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (http_field_reads_as(f, names[i]) && !http_field_is(f, names[i]))
			return true;
	return false;
}

static void copy_fields(const struct http_stage *s, struct http_out *o, const struct http_head *h)
{
	bool drops = s->redact && h->status == 0;

	for (unsigned i = 0; i < h->n_fields; i++) {
		const struct http_field *f = &h->fields[i];

		if (!(HOLD_GATE_HOP && (http_field_is_hop(h, f) || is_disguised(f))) &&
		    !http_field_is(f, "host") && !http_field_is(f, "content-length") &&
		    !http_field_is(f, "expect") &&
		    !(drops && (secret_drops(f, s->inject, s->n_inject) ||
				http_field_is(f, "sec-websocket-extensions"))) &&
		    !(s->is_brokered && h->status && is_set_cookie(f)))
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
	const struct http_head *h = s->head;
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
	if (s->tunnel.is_wanted)
		tunnel_fields(&o);
	else if (!s->server_keeps)
		http_out_field(&o, "Connection", "close");
	int n = http_out_end(&o);
	if (n >= 0)
		n = stage_put(&io->to_server, buf, (size_t)n);
	explicit_bzero(buf, s->n_inject ? sizeof(buf) : 0);
	return n;
}

/* The server that there is has ended, has said what nobody asked for, or knows us as another. */
static bool needs_other(const struct http_stage *s, const struct stage_io *io)
{
	const struct conn *c = s->conn;

	return io->server_ended || (HOLD_GATE_SPARE && io->from_server.len) ||
	       (HOLD_GATE_ERRAND && c->served.secrets != c->errand.secrets);
}

static void forget_again(struct http_stage *s)
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

	forget_again(s);
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
	if (!has_head(s))
		return STAGE_ABORT;
	int used = http_head_parse(s->head, in->data + in->start, in->len, HTTP_REQUEST, &e);
	if (used == 0)
		return io->client_ended ? STAGE_ABORT : STAGE_ON;
	if (used < 0)
		return refuse(io, e.status, e.why);
	enum stage_next next =
		HOLD_GATE_EACH || !s->conn->server_open ? judge(s, io, (size_t)used) : STAGE_ON;
	if (next == STAGE_WAIT) {
		drop_head(s); /* it is read again when he has answered */
		return STAGE_ON;
	}
	if (next != STAGE_ON)
		return next;
	if (http_body_of_request(&s->up, s->head, UINT64_MAX, &e) < 0 ||
	    tunnel_ask(&s->tunnel, s->head, &e) < 0)
		return refuse(io, e.status, e.why);
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
	if (write_request(s, io) < 0 ||
	    !taped_begin(&s->taped, s->conn, s->head, egress_protocol_name(spoken(s->conn))))
		return refuse(io, 400, "the request cannot be passed on");
	if (s->head->expect_continue && stage_put(&io->to_client, go_on, sizeof(go_on) - 1) < 0)
		return STAGE_ABORT;
	stage_took(in, (size_t)used);
	drop_head(s);
	return begin_exchange(s, io);
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
static int put_redacted(struct http_stage *s, struct stage_buf *out, const char *data, size_t len,
			bool chunks, bool last)
{
	static char room[STAGE_BUF_MAX + 2 * REDACT_FORM_MAX];
	size_t n = redact_feed(s->redact, data, len, room);

	if (last)
		n += redact_end(s->redact, room + n);
	taped_data(&s->taped, s->conn, room, n);
	return put_part(out, room, n, chunks);
}

/* What may not pass, or may not be at all, behind a request. */
static bool is_bad_end(struct http_stage *s, const struct http_body *b)
{
	struct conn *c = s->conn;

	if (HOLD_GATE_TRAILER && mark_in(b->kept, b->kept_len)) {
		secrets_alarm(c, "trailer");
		return true;
	}
	if (s->head_max && b->kept_len > s->head_max) {
		box_deny(c->box, &c->host, c->port, NULL, s->rule,
			 "the trailers of a request are longer than the rule allows");
		return true;
	}
	return false;
}

/* The last chunk, and of what stands behind it what may go on. */
static int put_end(struct http_stage *s, const struct http_body *b, struct stage_buf *out)
{
	static char text[HTTP_TRAILERS_ROOM + CHUNK_ROOM];
	enum http_side side = b == &s->up ? HTTP_REQUEST : HTTP_RESPONSE;
	const char *lines = b->kept;
	size_t left = b->kept ? b->kept_len : 0;
	struct http_field f;
	struct http_out o;

	if (left && side == HTTP_REQUEST && is_bad_end(s, b))
		return -1;
	http_out_init(&o, text, sizeof(text));
	while (http_trailer_next(&lines, &left, &f))
		if (!HOLD_GATE_TRAILER || http_trailer_may(&f, side))
			http_out_copy(&o, &f);
	if (o.error)
		return -1;
	if (side == HTTP_RESPONSE && s->redact)
		(void)redact_whole(s->redact, text, o.len);
	if (side == HTTP_RESPONSE)
		taped_trailers(&s->taped, s->conn, text, o.len);
	return stage_put_end(out, text, o.len);
}

static void drop_trailers(struct http_stage *s)
{
	free(s->up_kept);
	free(s->down_kept);
	s->up_kept = s->down_kept = s->up.kept = s->down.kept = NULL;
}

/* As much of a body as there is and as fits, framed anew. 1: it is whole. 0: not yet. -1: bad. */
static int pump(struct http_stage *s, struct http_body *b, struct stage_buf *in,
		struct stage_buf *out, bool chunks)
{
	bool up = b == &s->up;

	for (;;) {
		size_t around = CHUNK_ROOM + (!up && s->redact ? REDACT_FORM_MAX : 0) + b->kept_len;
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
		if (up && secret_scan(&s->scan, data, len)) {
			secrets_alarm(s->conn, "body");
			return -1;
		}
		if (up && s->taped.is_on)
			hash_add(&s->taped.body, data, len);
		else if (!up && !s->redact)
			taped_data(&s->taped, s->conn, data, len);
		if ((!up && s->redact ? put_redacted(s, out, data, len, chunks, r > 0)
				      : put_part(out, data, len, chunks)) < 0)
			return -1;
		if (used)
			stage_took(in, used);
		if (r > 0 && chunks && put_end(s, b, out) < 0)
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

/* A server that waited for us had ended. It has heard nothing, or said nothing: ask another. */
static enum stage_next ask_again(struct http_stage *s, struct stage_io *io)
{
	stage_buf_done(&io->to_server);
	int r = stage_put(&io->to_server, s->again, s->again_len);

	forget_again(s);
	s->conn->errand.may_repeat = false;
	return r < 0 ? STAGE_ABORT : STAGE_OTHER;
}

static int write_response(struct http_stage *s, struct stage_io *io)
{
	static char buf[HEAD_ROOM];
	const struct http_head *h = s->head;
	struct http_out o;
	bool endless = s->down.kind == HTTP_BODY_CHUNKED || s->down.kind == HTTP_BODY_TO_END;

	if (!h->keep_alive)
		s->server_keeps = false;
	/* It may have tied who we are to this connection, which is nobody else's then. */
	if (h->status == 401 || h->status == 407)
		s->conn->served.rule = ERRAND_OWN;
	if (!h->keep_alive || (s->is_old && endless) || s->down.kind == HTTP_BODY_TO_END)
		s->keeps = false;
	http_out_init(&o, buf, sizeof(buf));
	http_out_status(&o, h->status);
	copy_fields(s, &o, h);
	bool bare = s->down.kind == HTTP_BODY_NONE;
	size_t fields = o.len;
	if (h->content_length >= 0)
		http_out_field_u64(&o, "Content-Length", (uint64_t)h->content_length);
	fields = bare ? o.len : fields; /* of an answer to HEAD it says what there would be */
	if (sends_chunks(s))
		http_out_field(&o, "Transfer-Encoding", "chunked");
	if (s->tunnel.is_open)
		tunnel_fields(&o);
	else if (!s->keeps)
		http_out_field(&o, "Connection", "close");
	int n = http_out_end(&o);
	if (n >= 0 && s->redact)
		(void)redact_whole(s->redact, buf, (size_t)n);
	if (n >= 0)
		taped_head(&s->taped, s->conn, buf, fields, bare);
	noted_end(&s->noted, s->conn, h->status);
	return n < 0 ? n : stage_put(&io->to_client, buf, (size_t)n);
}

/* What is packed, or a part, cannot be looked into; nobody asked for it. */
static bool hides(const struct http_head *h)
{
	static const char *const how[] = {"content-encoding", "grpc-encoding",
					  "connect-content-encoding"};

	for (size_t i = 0; i < sizeof(how) / sizeof(how[0]); i++) {
		const struct http_field *f = http_head_field(h, how[i]);

		for (; f; f = http_head_next(h, f))
			if (f->value_len != strlen("identity") ||
			    strncasecmp(f->value, "identity", f->value_len) != 0)
				return true;
	}
	return h->status == 206;
}

/* 1: there is one. 0: not yet. -1: the server makes no sense. */
static int take_response(struct http_stage *s, struct stage_io *io)
{
	struct stage_buf *in = &io->from_server;
	struct http_error e;

	for (;;) {
		if (in->len == 0 || STAGE_BUF_MAX - io->to_client.len < HEAD_ROOM)
			return 0;
		if (!has_head(s))
			return -1;
		int used =
			http_head_parse(s->head, in->data + in->start, in->len, HTTP_RESPONSE, &e);
		if (used <= 0)
			return used < 0 ? -1 : 0;
		forget_again(s);
		bool informal = s->head->status < 200;
		if (s->redact && hides(s->head))
			return -1;
		if (s->head->status == 101) {
			s->tunnel.is_open = tunnel_is_agreed(&s->tunnel, s->head, s->redact);
			informal = false;
			if (s->conn->box->recording.is_on)
				tape_unseen(s->conn);
		}
		if (s->head->status == 101 ? !s->tunnel.is_open
					   : informal && ++s->n_informal > INFORMAL_MAX)
			return -1;
		if (!informal &&
		    (http_body_of_response(&s->down, s->head, s->method, UINT64_MAX, &e) < 0 ||
		     write_response(s, io) < 0))
			return -1;
		if (!informal && s->wants_trailers && sends_chunks(s))
			s->down.kept = s->down_kept = malloc(HTTP_TRAILERS_ROOM);
		stage_took(in, (size_t)used);
		drop_head(s);
		if (!informal)
			return 1;
	}
}

static enum stage_next broken(struct http_stage *s, struct stage_io *io)
{
	if (s->has_response)
		return STAGE_ABORT; /* the client sees that it is not whole */
	noted_end(&s->noted, s->conn, 502);
	return refuse(io, 502, "the server's answer is no good HTTP");
}

static enum stage_next take_answer(struct http_stage *s, struct stage_io *io)
{
	struct http_error e;

	if (!s->has_response) {
		int r = take_response(s, io);

		if (r == 0 && io->server_ended && s->again && io->from_server.len == 0)
			return ask_again(s, io);
		if (r < 0 || (r == 0 && io->server_ended && io->to_client.len == 0))
			return broken(s, io);
		s->has_response = r > 0;
	}
	if (!s->has_response || s->down_done || s->tunnel.is_open)
		return STAGE_ON;
	int r = pump(s, &s->down, &io->from_server, &io->to_client, sends_chunks(s));
	if (r == 0 && io->server_ended && io->from_server.len == 0) {
		if (http_body_eof(&s->down, &e) < 0 || io->server_cut)
			return STAGE_ABORT;
		if (STAGE_BUF_MAX - io->to_client.len < REDACT_FORM_MAX + CHUNK_ROOM)
			return STAGE_ON; /* no room yet */
		if (s->redact && put_redacted(s, &io->to_client, "", 0, sends_chunks(s), true) < 0)
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
	if (s->conn->box->replay.is_on) {
		stage_buf_done(&io->to_server); /* nobody is there */
		if (!s->up_done)
			return STAGE_ON;
		if (!taped_answer(&s->taped, s->conn, io))
			return refuse(io, 502, "the recording has no answer to this request");
	} else if (!io->server_open) {
		return STAGE_SERVER;
	}
	if (s->tunnel.is_open)
		return tunnel_run(&s->tunnel, s->conn, s->redact, io);
	enum stage_next next = take_answer(s, io);
	if (next != STAGE_ON || !s->down_done)
		return next;
	if (s->up_done)
		taped_end(&s->taped, s->conn);
	/* A server that answers before it has all will not take the rest. */
	if (!s->up_done)
		return STAGE_END;
	drop_trailers(s);
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

	forget_again(s);
	drop_head(s);
	drop_trailers(s);
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
	static const struct stage_ops ops = {run, no_server, http_stage_free, part, meet};
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
