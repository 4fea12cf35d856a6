/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MCP over Streamable HTTP, both eras at one path. A modern request is complete in itself: its
 * headers repeat what its body says, and its answer is its stream; who closes that cancels it. A
 * legacy client has a session, and a stream that breaks means nothing.
 *
 * An answer is one JSON document where nothing is said before it, else a stream of events. Who the
 * caller is, and whether Host and Origin may come here, was checked before we are called.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "api/api.h"
#include "api/exchange.h"
#include "api/heirs.h"
#include "base/fd.h"
#include "mcp/mcp_int.h"

#define BEAT_MS 15000u
#define SESSIONS_MAX 1024u
#define SESSIONS_EACH 256u /* of a tenant: then his own make room, nobody else's */
#define VALUE_SIZE 8192u

/* A legacy client. */
struct mcp_session {
	char id[40];
	struct peer *peer;
	uint64_t used_ms;
	struct mcp_session *next;
};

struct http_sink {
	struct sink sink;
	struct mcp *mcp;
	struct exchange *x;	  /* NULL: gone */
	struct mcp_session *made; /* by this message, if it is a good one */
	struct timer beat;
	bool modern, events, wants_json, sending;
};

/* `id`: of the request, where one could be read. */
static void refuse_id(struct exchange *x, int status, const struct value *id, const char *text)
{
	auto_value *v = value_object();
	struct value *error = value_object();
	size_t len = 0;

	value_set(error, "code", value_of_int(RPC_SHAPE));
	value_set(error, "message", value_of_str(text));
	value_set(v, "jsonrpc", value_of_str("2.0"));
	if (value_kind(id) == VALUE_STRING || value_kind(id) == VALUE_INT)
		value_set(v, "id", value_copy(id));
	value_set(v, "error", error);
	char *all = value_text(v, &len);
	exchange_reply(x, status, NULL, all, all ? len : 0);
}

static void refuse(struct exchange *x, int status, const char *text)
{
	refuse_id(x, status, NULL, text);
}

static void session_free(struct mcp_session *s)
{
	if (!s)
		return;
	peer_drop(s->peer);
	peer_unref(s->peer);
	free(s);
}

static struct mcp_session *session_find(struct mcp *m, const struct who *who, const char *id)
{
	for (struct mcp_session *s = m->sessions; s; s = s->next)
		if (strcmp(s->id, id) == 0 && strcmp(s->peer->who.tenant, who->tenant) == 0) {
			s->used_ms = loop_now_ms();
			return s;
		}
	return NULL;
}

static void session_end(struct mcp *m, struct mcp_session *gone)
{
	for (struct mcp_session **at = &m->sessions; *at; at = &(*at)->next)
		if (*at == gone) {
			*at = gone->next;
			m->n_sessions--;
			session_free(gone);
			return;
		}
}

/* The one that was used longest ago makes room: of that tenant, if he has any. */
static void session_add(struct mcp *m, struct mcp_session *s)
{
	struct mcp_session *oldest = NULL, *own = NULL;
	unsigned n_own = 0;

	for (struct mcp_session *o = m->sessions; o; o = o->next) {
		bool his = strcmp(o->peer->who.tenant, s->peer->who.tenant) == 0;

		n_own += his;
		own = his && (!own || o->used_ms < own->used_ms) ? o : own;
		oldest = !oldest || o->used_ms < oldest->used_ms ? o : oldest;
	}
	if (n_own >= SESSIONS_EACH || (own && m->n_sessions >= SESSIONS_MAX))
		session_end(m, own);
	else if (m->n_sessions >= SESSIONS_MAX)
		session_end(m, oldest);
	s->used_ms = loop_now_ms();
	s->next = m->sessions;
	m->sessions = s;
	m->n_sessions++;
}

static struct mcp_session *session_new(struct mcp *m, const struct who *who)
{
	struct mcp_session *s = calloc(1, sizeof(*s));
	unsigned char random[16];

	if (s)
		s->peer = peer_new(m, who);
	if (!s || !s->peer || getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
		if (s)
			peer_unref(s->peer);
		free(s);
		return NULL;
	}
	for (size_t i = 0; i < sizeof(random); i++)
		(void)snprintf(s->id + 2 * i, 3, "%02x", random[i]);
	return s;
}

void http_sessions_free(struct mcp *m)
{
	while (m->sessions)
		session_end(m, m->sessions);
}

static void sink_free(struct http_sink *s)
{
	timer_set(s->mcp->api->loop, &s->beat, 0);
	if (s->x)
		exchange_on_gone(s->x, NULL, NULL);
	session_free(s->made);
	free(s);
}

static void gone(struct exchange *x, void *arg)
{
	struct http_sink *s = arg;

	(void)x;
	s->x = NULL;
	rpc_gone(&s->sink, s->modern);
	if (!s->sending)
		sink_free(s);
}

static void begin_events(struct http_sink *s)
{
	if (s->events)
		return;
	s->events = true;
	exchange_events(s->x);
	timer_set(s->mcp->api->loop, &s->beat, loop_now_ms() + BEAT_MS);
}

/* Something is heard now and then, so that nobody on the way takes the stream for dead. */
static void beat(struct timer *t)
{
	struct http_sink *s = (struct http_sink *)((char *)t - offsetof(struct http_sink, beat));

	s->sending = true;
	if (!s->wants_json)
		begin_events(s);
	if (s->x && s->events)
		exchange_comment(s->x, "keep-alive");
	s->sending = false;
	if (!s->x)
		sink_free(s);
	else
		timer_set(s->mcp->api->loop, t, loop_now_ms() + BEAT_MS);
}

static void reply(struct http_sink *s, const char *text, size_t len, int status)
{
	char *copy = text ? malloc(len) : NULL;

	if (s->made && s->made->peer->initialized) {
		exchange_header(s->x, "Mcp-Session-Id", s->made->id);
		session_add(s->mcp, take_ptr(&s->made));
	}
	if (copy)
		memcpy(copy, text, len);
	exchange_reply(s->x, text && !copy ? 500 : status, text ? "application/json" : NULL, copy,
		       copy ? len : 0);
}

static void sink_send(struct sink *sink, const char *text, size_t len, bool last, int http)
{
	struct http_sink *s = (struct http_sink *)sink;

	s->sending = true;
	/* Tests see to it that both ways of answering are used. */
	bool stream = s->mcp->fixtures && !s->modern && !s->made && !s->wants_json;
	if (s->x && (!last || (stream && text && http == 200)))
		begin_events(s);
	if (s->x && text && s->events)
		exchange_event(s->x, "message", NULL, text, len);
	if (s->x && last) {
		exchange_on_gone(s->x, NULL, NULL);
		if (s->events)
			exchange_end(s->x);
		else
			reply(s, text, len, http);
		s->x = NULL;
	}
	s->sending = false;
	if (!s->x)
		sink_free(s);
}

/* "=?base64?…?=" stands for bytes that a header cannot have. -1: it is none that could be read. */
static int unwrap(char *value)
{
	size_t len = strlen(value), n = 0;
	auto_free void *plain = NULL;

	if (strncmp(value, "=?base64?", 9) != 0 || len < 11 || strcmp(value + len - 2, "?=") != 0)
		return 0;
	if (value_from_base64(value + 9, len - 11, &plain, &n) < 0 || n >= VALUE_SIZE ||
	    memchr(plain, '\0', n))
		return -1;
	memcpy(value, plain, n);
	value[n] = '\0';
	return 0;
}

static int mismatch(struct rpc_error *e, const char *header, const char *why)
{
	return rpc_fail(e, RPC_HEADER, 400, "Header mismatch: %s %s", header, why);
}

static int check_same(const struct http_sink *s, const char *header, const char *want, bool wrapped,
		      struct rpc_error *e)
{
	char value[VALUE_SIZE];

	if (!exchange_field(s->x, header, value, sizeof(value)))
		return mismatch(e, header, "is missing");
	if (wrapped && unwrap(value) < 0)
		return mismatch(e, header, "is not base64");
	return want && strcmp(value, want) == 0 ? 0
						: mismatch(e, header, "disagrees with the body");
}

static bool same_number(const char *text, double want)
{
	char *end = NULL;
	double n = strtod(text, &end);

	return *text && !*end && n == want;
}

/* An argument that its tool wants to see in a header, too. */
static int check_param(const struct http_sink *s, const char *name, const struct value *given,
		       struct rpc_error *e)
{
	char header[128], value[VALUE_SIZE];
	bool same;

	(void)snprintf(header, sizeof(header), "mcp-param-%.100s", name);
	for (char *p = header; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	bool there = exchange_field(s->x, header, value, sizeof(value));
	if (!given || value_kind(given) == VALUE_NULL)
		return there ? mismatch(e, header, "has no argument in the body") : 0;
	if (!there)
		return mismatch(e, header, "is missing");
	if (unwrap(value) < 0)
		return mismatch(e, header, "is not base64");
	if (value_kind(given) == VALUE_STRING)
		same = strcmp(value, value_str(given)) == 0;
	else if (value_kind(given) == VALUE_BOOL)
		same = strcmp(value, value_true(given) ? "true" : "false") == 0;
	else
		same = same_number(value, value_real(given));
	return same ? 0 : mismatch(e, header, "disagrees with the body");
}

static const struct value *schema_of(const struct value *tools, const char *name)
{
	for (size_t i = 0; i < value_len(tools); i++) {
		const char *one = value_str(value_get(value_at(tools, i), "name"));

		if (one && strcmp(one, name) == 0)
			return value_get(value_at(tools, i), "inputSchema");
	}
	return NULL;
}

static int check_params(const struct http_sink *s, const struct value *params, struct rpc_error *e)
{
	const char *name = value_str(value_get(params, "name"));
	auto_value *tools = name && s->mcp->fixtures ? tools_list(s->mcp) : NULL;
	const struct value *all = tools ? value_get(schema_of(tools, name), "properties") : NULL;
	const struct value *given = value_get(params, "arguments");

	/* None of our own tools has such an argument. */
	for (const char *key = NULL; (key = value_next_key(all, key));) {
		const char *header = value_str(value_get(value_get(all, key), "x-mcp-header"));

		if (header && check_param(s, header, value_get(given, key), e) < 0)
			return -1;
	}
	return 0;
}

static int check(struct sink *sink, enum sink_check at, const struct value *message,
		 struct rpc_error *e)
{
	const struct http_sink *s = (const struct http_sink *)sink;
	const char *name = value_str(value_get(message, "method"));
	const struct value *params = value_get(message, "params");
	const struct method *m = method_find(name, true);

	switch (at) {
	case SINK_VERSION:
		return check_same(s, "mcp-protocol-version", value_str(rpc_claim(message)), false,
				  e);
	case SINK_METHOD:
		if (check_same(s, "mcp-method", name, false, e) < 0)
			return -1;
		if (m && m->name_key)
			return check_same(s, "mcp-name", value_str(value_get(params, m->name_key)),
					  true, e);
		return 0;
	case SINK_ARGUMENTS:
		return strcmp(name, "tools/call") == 0 ? check_params(s, params, e) : 0;
	}
	return 0;
}

/* That type and no other that has its name in it: what a page of another origin may send is not. */
static bool is_json(const struct exchange *x)
{
	static const char json[] = "application/json";
	const size_t n = sizeof(json) - 1;
	char type[128];

	if (!exchange_field(x, "content-type", type, sizeof(type)) ||
	    strncasecmp(type, json, n) != 0)
		return false;
	const char *behind = type + n + strspn(type + n, " \t");
	return !*behind || *behind == ';';
}

/* Only JSON, by its own word. */
static bool wants_json(const struct exchange *x)
{
	char accept[512];

	return exchange_field(x, "accept", accept, sizeof(accept)) &&
	       !strcasestr(accept, "text/event-stream") && !strstr(accept, "*/*");
}

static struct http_sink *sink_new(struct mcp *m, struct exchange *x)
{
	struct http_sink *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct http_sink){.sink = {.send = sink_send, .check = check},
				.mcp = m,
				.x = x,
				.wants_json = wants_json(x),
				.beat.fire = beat};
	exchange_on_gone(x, gone, s);
	timer_set(m->api->loop, &s->beat, loop_now_ms() + BEAT_MS);
	return s;
}

/* The session that a legacy message belongs to; NULL: it was refused. */
static struct mcp_session *session_of(struct mcp *m, struct exchange *x,
				      const struct value *message)
{
	const struct value *request = value_get(message, "id");
	char id[64], version[32];

	if (!exchange_field(x, "mcp-session-id", id, sizeof(id))) {
		refuse_id(x, 400, request,
			  "Mcp-Session-Id is missing: send initialize first, or speak " RPC_MODERN);
		return NULL;
	}
	struct mcp_session *s = session_find(m, exchange_who(x), id);
	if (!s) {
		refuse_id(x, 404, request, "there is no such session: send initialize again");
		return NULL;
	}
	if (exchange_field(x, "mcp-protocol-version", version, sizeof(version)) &&
	    !rpc_is_legacy(version)) {
		refuse_id(x, 400, request, "Mcp-Protocol-Version: not one that was agreed on");
		return NULL;
	}
	return s;
}

static void post_modern(struct mcp *m, struct exchange *x, struct value *message)
{
	struct http_sink *s = sink_new(m, x);
	struct peer *p = peer_new(m, exchange_who(x));

	if (!s || !p) {
		value_free(message);
		free(s);
		peer_unref(p);
		refuse(x, 500, "out of memory");
		return;
	}
	s->modern = true;
	rpc_message(p, &s->sink, message);
	peer_unref(p);
}

static void post_legacy(struct mcp *m, struct exchange *x, struct value *message)
{
	const char *method = value_str(value_get(message, "method"));
	bool first = method && strcmp(method, "initialize") == 0;
	struct mcp_session *old = first ? NULL : session_of(m, x, message);
	struct http_sink *s = NULL;

	if (!first && !old) {
		value_free(message);
		return;
	}
	s = sink_new(m, x);
	if (s && first)
		s->made = session_new(m, exchange_who(x));
	if (!s || (first && !s->made)) {
		value_free(message);
		if (s)
			sink_free(s);
		refuse(x, 500, "out of memory");
		return;
	}
	rpc_message(first ? s->made->peer : old->peer, &s->sink, message);
}

/* A shape that no message has is refused whoever sent it. */
static bool is_message(const struct value *v)
{
	return value_kind(v) == VALUE_OBJECT &&
	       (value_get(v, "method") || value_get(v, "result") || value_get(v, "error"));
}

static void post(struct mcp *m, struct exchange *x)
{
	char version[64] = "";
	struct value *message = NULL;
	struct err e = ERR_INIT;
	size_t len = 0;
	const char *body = exchange_body(x, &len);

	if (!is_json(x)) {
		refuse(x, 415, "Content-Type: application/json is wanted");
		return;
	}
	(void)exchange_field(x, "mcp-protocol-version", version, sizeof(version));
	bool parsed =
		len <= RPC_MESSAGE_MAX && value_parse(body ? body : "", len, &message, &e) == 0;
	if (parsed && is_message(message) && !rpc_claim(message) && !rpc_is_modern(version)) {
		post_legacy(m, x, message);
	} else if (parsed && (rpc_claim(message) || !is_message(message))) {
		post_modern(m, x, message);
	} else {
		struct http_sink *s = sink_new(m, x);
		struct rpc_error wrong = {0};

		(void)rpc_fail(
			&wrong, parsed ? RPC_PARAMS : RPC_PARSE, len > RPC_MESSAGE_MAX ? 413 : 400,
			"%s",
			parsed ? "params._meta[\"io.modelcontextprotocol/protocolVersion\"] is missing"
			: len > RPC_MESSAGE_MAX ? "the message is too long"
						: e.text);
		if (s)
			rpc_refuse(&s->sink, message, &wrong);
		else
			refuse(x, 500, "out of memory");
		value_free(message);
	}
}

static void end_session(struct mcp *m, struct exchange *x)
{
	struct mcp_session *s = session_of(m, x, NULL);

	if (!s)
		return;
	session_end(m, s);
	exchange_reply(x, 204, NULL, NULL, 0);
}

static void begin(struct exchange *x, void *arg)
{
	struct mcp *m = arg;

	if (!(exchange_who(x)->scopes & SCOPE_RUN)) {
		refuse(x, 403, "this token has not the scope run");
		return;
	}
	switch (exchange_head(x)->method) {
	case HTTP_POST: post(m, x); return;
	case HTTP_DELETE: end_session(m, x); return;
	case HTTP_OPTIONS:
		exchange_header(x, "Allow", "POST, DELETE, OPTIONS");
		exchange_reply(x, 204, NULL, NULL, 0);
		return;
	default: /* GET, too: nothing is said that belongs to no request */
		exchange_header(x, "Allow", "POST, DELETE, OPTIONS");
		refuse(x, 405, "POST a message");
		return;
	}
}

/* A client that has a session goes to the process that has it. */
static void tell_sessions(void *arg, struct heirs *h)
{
	const struct mcp *m = arg;
	char key[LINK_KEY_SIZE];

	for (const struct mcp_session *s = m->sessions; s; s = s->next) {
		(void)snprintf(key, sizeof(key), "mcp-session-id %s", s->id);
		heirs_key(h, s->peer->who.tenant, key);
	}
}

void mcp_mount(struct mcp *m, struct server *s)
{
	m->api->tell_more = tell_sessions;
	m->api->tell_more_arg = m;
	server_mount(s, "/mcp", SCOPE_RUN, begin, m);
}
