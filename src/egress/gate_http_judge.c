/* SPDX-License-Identifier: Apache-2.0 */
/* May this request go? A rule, a person, limits and secrets say so; who may not is told why. */
#include <stdio.h>
#include <string.h>

#include "egress/gate_http.h"
#include "egress/hold.h"
#include "egress/target.h"
#include "http/write.h"

enum stage_next http_stage_refuse(struct stage_io *io, unsigned status, const char *text)
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

enum stage_next http_stage_no_server(struct stage *stage, struct stage_io *io, const char *why)
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
	return http_stage_refuse(io, 502, why);
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

enum egress_protocol http_stage_spoken(const struct conn *c)
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
	return http_stage_refuse(io, status, text);
}

enum stage_next http_stage_judge(struct http_stage *s, struct stage_io *io, size_t head_len)
{
	struct conn *c = s->conn;
	struct name host;
	struct egress_request q;
	struct egress_verdict v = {.hint = ""};
	const char *why = "malformed";
	char what[GATE_WHAT_SIZE], method[TARGET_METHOD_SIZE];

	if (s->head->method == HTTP_CONNECT)
		return http_stage_refuse(io, 405, "CONNECT is for the proxy's port");
	if (target_is_websocket(s->head))
		return http_stage_refuse(io, 405,
					 "WEBSOCKET is what rules call it; it is opened by GET");
	if (target_of_request(s->head, s->is_proxy ? NULL : &c->host, c->port, http_stage_spoken(c),
			      &host, &q, &why) < 0) {
		(void)snprintf(what, sizeof(what), "request to %.100s:%u: %.60s",
			       s->is_proxy ? "the proxy" : c->host.text, c->port, why);
		if (!s->is_proxy)
			box_deny(c->box, &c->host, c->port, what, "http", why);
		return http_stage_refuse(io, 403, why);
	}
	if (!choose(s, &host, &q, &v))
		return c->is_asking
			       ? STAGE_WAIT
			       : http_stage_refuse(io, 403, v.hint[0] ? v.hint : "not allowed");
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
