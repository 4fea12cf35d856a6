/* SPDX-License-Identifier: Apache-2.0 */
/* Heads as they go on: written anew, with one framing, without what belongs to one connection. */
#include <stdio.h>
#include <string.h>

#include "egress/gate_http.h"
#include "egress/hold.h"
#include "http/body.h"
#include "http/target.h"
#include "http/write.h"

static void put_host(struct http_out *o, const struct conn *c)
{
	char text[NAME_SIZE + 16];
	bool ip6 = c->host.kind == NAME_IP6;

	(void)snprintf(text, sizeof(text), "%s%s%s", ip6 ? "[" : "", c->host.text, ip6 ? "]" : "");
	if (c->port != (http_stage_spoken(c) == EGRESS_HTTPS ? 443 : 80))
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

int http_stage_write_request(struct http_stage *s, struct stage_io *io)
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

int http_stage_write_response(struct http_stage *s, struct stage_io *io)
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
	if (http_stage_sends_chunks(s))
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
