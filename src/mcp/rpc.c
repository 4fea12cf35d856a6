/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/rpc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "mcp/ask.h"
#include "mcp/mcp_int.h"

#define META "io.modelcontextprotocol/"

static const char *const legacy_versions[] = {RPC_LEGACY, "2025-06-18", "2025-03-26", "2024-11-05",
					      "2024-10-07"};

bool rpc_is_modern(const char *version)
{
	return strcmp(version, RPC_MODERN) == 0;
}

bool rpc_is_legacy(const char *version)
{
	for (size_t i = 0; i < sizeof(legacy_versions) / sizeof(*legacy_versions); i++)
		if (strcmp(version, legacy_versions[i]) == 0)
			return true;
	return false;
}

int rpc_fail(struct rpc_error *e, int code, int http, const char *fmt, ...)
{
	va_list ap;

	e->code = code;
	e->http = http;
	va_start(ap, fmt);
	(void)vsnprintf(e->text, sizeof(e->text), fmt, ap); /* cut text is still an error */
	va_end(ap);
	return -1;
}

const struct value *rpc_claim(const struct value *message)
{
	const struct value *meta = value_get(value_get(message, "params"), "_meta");

	return value_get(meta, META "protocolVersion");
}

struct peer *peer_new(struct mcp *m, const struct who *who)
{
	struct peer *c = calloc(1, sizeof(*c));

	if (c)
		*c = (struct peer){.mcp = m, .who = *who, .log_level = -1, .refs = 1};
	return c;
}

void peer_unref(struct peer *c)
{
	if (!c || --c->refs)
		return;
	value_free(c->subscribed);
	free(c);
}

/* Without memory there is still this much to say. */
static const char no_memory[] =
	"{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32603,\"message\":\"out of memory\"}}";

static void send_value(struct sink *s, struct value *message, bool last, int http)
{
	size_t len = 0;
	auto_free char *text = value_text(message, &len);

	value_free(message);
	if (text)
		s->send(s, text, len, last, http);
	else if (last)
		s->send(s, no_memory, sizeof(no_memory) - 1, true, 500);
}

static bool is_id(const struct value *id)
{
	return value_kind(id) == VALUE_STRING || value_kind(id) == VALUE_INT;
}

static struct value *envelope(const struct value *id)
{
	struct value *v = value_object();

	value_set(v, "jsonrpc", value_of_str("2.0"));
	if (is_id(id))
		value_set(v, "id", value_copy(id));
	return v;
}

static void send_error(struct sink *s, const struct value *id, const struct rpc_error *e)
{
	struct value *v = envelope(id), *error = value_object();

	value_set(error, "code", value_of_int(e->code));
	value_set(error, "message", value_of_str(e->text));
	if (e->data)
		value_set(error, "data", value_copy(e->data));
	value_set(v, "error", error);
	send_value(s, v, true, e->http ? e->http : 200);
}

void rpc_refuse(struct sink *s, const struct value *message, const struct rpc_error *e)
{
	send_error(s, value_get(message, "id"), e);
}

static void request_free(struct request *r)
{
	struct peer *c = r->peer;

	for (struct request **at = &c->requests; *at; at = &(*at)->next)
		if (*at == r) {
			*at = r->next;
			break;
		}
	listen_end(r);
	progress_end(r);
	ask_gone(r);
	value_free(r->message);
	value_free(r->inputs);
	value_free(r->fault.data);
	free(r->state);
	free(r);
	peer_unref(c);
}

/* The sink is told last: it may be gone then, and all of its transport. */
static struct sink *leave(struct request *r)
{
	struct sink *s = r->sink;

	if (s)
		s->request = NULL;
	r->sink = NULL;
	return s;
}

void request_fail(struct request *r, const struct rpc_error *e)
{
	struct sink *s = leave(r);

	if (s && r->cancelled)
		s->send(s, NULL, 0, true, 202);
	else if (s)
		send_error(s, r->id, e);
	request_free(r);
}

/* What every modern result carries. */
static void decorate(const struct request *r, struct value *result)
{
	struct value *meta = value_get(result, "_meta"), *info = value_object();

	value_set(info, "name", value_of_str("pinfold"));
	value_set(info, "version", value_of_str(PINFOLD_VERSION));
	if (!value_get(result, "resultType"))
		value_set(result, "resultType", value_of_str("complete"));
	if (r->method && r->method->ttl_ms >= 0) {
		value_set(result, "ttlMs", value_of_int(r->method->ttl_ms));
		value_set(result, "cacheScope", value_of_str(r->method->scope));
	}
	if (meta) {
		value_set(meta, META "serverInfo", info);
	} else {
		meta = value_object();
		value_set(meta, META "serverInfo", info);
		value_set(result, "_meta", meta);
	}
}

void request_answer(struct request *r, struct value *result)
{
	struct sink *s = leave(r);
	struct value *v = envelope(r->id);

	if (r->modern && value_kind(result) == VALUE_OBJECT)
		decorate(r, result);
	value_set(v, "result", result);
	if (s && r->cancelled) {
		s->send(s, NULL, 0, true, 202);
		value_free(v);
	} else if (s) {
		send_value(s, v, true, 200);
	} else {
		value_free(v);
	}
	progress_end(r);
}

void request_finish(struct request *r, struct value *result)
{
	request_answer(r, result);
	request_free(r);
}

void request_send(struct request *r, struct value *message)
{
	if (r->sink && !r->cancelled)
		send_value(r->sink, message, false, 200);
	else
		value_free(message);
}

void request_notify(struct request *r, const char *method, struct value *params)
{
	struct value *v = envelope(NULL);

	value_set(v, "method", value_of_str(method));
	value_set(v, "params", params);
	request_send(r, v);
}

static void cancel(struct request *r)
{
	r->cancelled = true;
	if (r->call)
		call_cancel(r->call);
	else
		request_finish(r, value_object()); /* one that only listens */
}

void rpc_gone(struct sink *s, bool cancel_it)
{
	struct request *r = s->request;

	if (!r)
		return;
	(void)leave(r);
	ask_gone(r);
	if (cancel_it)
		cancel(r);
}

void rpc_cancel(struct peer *c, const struct value *id)
{
	for (struct request *r = c->requests; r && id; r = r->next)
		if (value_equal(r->id, id)) {
			cancel(r);
			return;
		}
}

void peer_drop(struct peer *c)
{
	for (struct request *r = c->requests, *next; r; r = next) {
		next = r->next;
		cancel(r);
	}
	ask_drop(c);
}

/* A work is done that a handler did. */
static void call_done(struct call *c)
{
	struct request *r = c->transport;

	progress_end(r);
	r->call = NULL;
	if (r->fault.code) {
		request_fail(r, &r->fault);
	} else if (r->inputs) {
		request_finish(r, ask_result(r));
	} else if (c->result >= 0) {
		request_finish(r, take_ptr(&c->reply.value));
	} else if (c->op->tool) {
		request_finish(r, tool_error(&c->error, c->request_id));
	} else {
		bool known = c->error.kind == ERR_MISSING || c->error.kind == ERR_INVALID;

		(void)rpc_fail(&r->fault, known ? RPC_PARAMS : RPC_INTERNAL, 200, "%s",
			       c->error.text);
		request_fail(r, &r->fault);
	}
	call_free(c);
}

int request_call(struct request *r, const struct op *op, struct value *args, struct err *e)
{
	struct call *c = call_new(r->mcp->api, op, &r->peer->who);

	if (!c) {
		value_free(args);
		return err_sys(e, "call");
	}
	c->args = args;
	c->transport = r;
	c->follow = progress_follow;
	c->done = call_done;
	r->call = c;
	progress_begin(r);
	int n = home_call(r->mcp, c, e);
	if (n < 0) {
		progress_end(r);
		r->call = NULL;
		call_free(c);
	}
	return n;
}

static unsigned client_bits(const struct value *caps)
{
	const struct value *elicit = value_get(caps, "elicitation");
	unsigned bits = 0;

	/* An empty object means forms only. */
	if (elicit && (value_get(elicit, "form") || !value_len(elicit)))
		bits |= CLIENT_FORM;
	if (value_get(elicit, "url"))
		bits |= CLIENT_URL;
	if (value_get(caps, "sampling"))
		bits |= CLIENT_SAMPLING;
	if (value_get(caps, "roots"))
		bits |= CLIENT_ROOTS;
	return bits;
}

void rpc_handshake(struct peer *c, const struct value *params)
{
	const char *wanted = value_str(value_get(params, "protocolVersion"));

	(void)snprintf(c->version, sizeof(c->version), "%s",
		       wanted && rpc_is_legacy(wanted) ? wanted : RPC_LEGACY);
	const char *name = value_str(value_get(value_get(params, "clientInfo"), "name"));
	(void)snprintf(c->who.client, sizeof(c->who.client), "%.63s", name ? name : "");
	c->client = client_bits(value_get(params, "capabilities"));
	c->initialized = true;
}

static int check_envelope(struct request *r, const struct value *claim, struct rpc_error *e)
{
	const struct value *meta = value_get(r->params, "_meta");
	const struct value *caps = value_get(meta, META "clientCapabilities");
	const struct value *level = value_get(meta, META "logLevel");
	const struct value *info = value_get(meta, META "clientInfo");

	if (value_kind(claim) != VALUE_STRING)
		return rpc_fail(e, RPC_PARAMS, 400,
				"_meta[\"" META "protocolVersion\"]: a string is wanted");
	if (value_kind(caps) != VALUE_OBJECT)
		return rpc_fail(e, RPC_PARAMS, 400,
				"_meta[\"" META "clientCapabilities\"]: an object is wanted");
	if (info && value_kind(info) != VALUE_OBJECT)
		return rpc_fail(e, RPC_PARAMS, 400,
				"_meta[\"" META "clientInfo\"]: an object is wanted");
	if (level && (!value_str(level) || log_level_of(value_str(level)) < 0))
		return rpc_fail(e, RPC_PARAMS, 400, "_meta[\"" META "logLevel\"]: no such level");
	const char *name = value_str(value_get(info, "name"));
	(void)snprintf(r->peer->who.client, sizeof(r->peer->who.client), "%.63s", name ? name : "");
	r->client = client_bits(caps);
	r->log_level = level ? log_level_of(value_str(level)) : -1;
	return 0;
}

static int check_version(const char *claim, struct rpc_error *e)
{
	if (rpc_is_modern(claim))
		return 0;
	struct value *supported = value_array();

	value_add(supported, value_of_str(RPC_MODERN));
	e->data = value_object();
	value_set(e->data, "supported", supported);
	value_set(e->data, "requested", value_of_str(claim));
	return rpc_fail(e, RPC_VERSION, 400,
			"protocol version %.40s is not served; this server speaks " RPC_MODERN,
			claim);
}

static int ask_transport(struct sink *s, enum sink_check at, const struct value *message,
			 struct rpc_error *e)
{
	return s->check ? s->check(s, at, message, e) : 0;
}

/* The order is the suite's: which error comes first when several would do. */
static int check_modern(struct request *r, const struct value *claim, struct rpc_error *e)
{
	const char *name = value_str(value_get(r->message, "method"));

	if (check_envelope(r, claim, e) < 0 ||
	    ask_transport(r->sink, SINK_VERSION, r->message, e) < 0 ||
	    check_version(value_str(claim), e) < 0 ||
	    ask_transport(r->sink, SINK_METHOD, r->message, e) < 0)
		return -1;
	r->method = method_find(name, true);
	if (!r->method)
		return rpc_fail(e, RPC_METHOD, 404, "method %.80s is not known", name);
	return ask_transport(r->sink, SINK_ARGUMENTS, r->message, e);
}

static int check_legacy(struct request *r, struct rpc_error *e)
{
	const char *name = value_str(value_get(r->message, "method"));

	r->client = r->peer->client;
	r->log_level = r->peer->log_level;
	r->method = method_find(name, false);
	if (!r->method)
		return rpc_fail(e, RPC_METHOD, 200, "method %.80s is not known", name);
	return 0;
}

static struct request *request_new(struct peer *c, struct sink *s, struct value *message)
{
	static const char nothing[] = "{}";
	struct request *r = calloc(1, sizeof(*r));
	struct err ignored = ERR_INIT;

	if (r && !value_get(message, "params")) {
		struct value *empty = NULL;

		(void)value_parse(nothing, 2, &empty, &ignored);
		value_set(message, "params", empty);
	}
	if (!r)
		return NULL;
	const struct value *params = value_get(message, "params");
	*r = (struct request){.peer = c,
			      .sink = s,
			      .mcp = c->mcp,
			      .modern = rpc_claim(message),
			      .message = message,
			      .id = value_get(message, "id"),
			      .params = params,
			      .token = value_get(value_get(params, "_meta"), "progressToken"),
			      .next = c->requests};
	c->requests = r;
	c->refs++;
	s->request = r;
	return r;
}

static void take_request(struct peer *c, struct sink *s, struct value *message)
{
	struct request *r = request_new(c, s, message);
	struct rpc_error e = {0};
	struct value *result = NULL;

	if (!r) {
		value_free(message);
		s->send(s, no_memory, sizeof(no_memory) - 1, true, 500);
		return;
	}
	if (!is_id(r->token))
		r->token = NULL;
	int n = r->modern ? check_modern(r, rpc_claim(message), &e) : check_legacy(r, &e);
	if (n == 0)
		n = r->method->run(r, &result, &e);
	if (n < 0)
		request_fail(r, &e);
	else if (n == 0)
		request_finish(r, result);
	value_free(e.data);
}

static int check_shape(const struct value *message, struct rpc_error *e)
{
	const struct value *id = value_get(message, "id"), *params = value_get(message, "params");
	const char *version = value_str(value_get(message, "jsonrpc"));

	if (value_kind(message) == VALUE_ARRAY)
		return rpc_fail(e, RPC_SHAPE, 400,
				"batches are not supported: send one message a line");
	if (value_kind(message) != VALUE_OBJECT)
		return rpc_fail(e, RPC_SHAPE, 400, "a message is an object, not %s",
				value_kind_name(value_kind(message)));
	if (!version || strcmp(version, "2.0") != 0)
		return rpc_fail(e, RPC_SHAPE, 400, "jsonrpc: \"2.0\" is wanted");
	if (!value_get(message, "method") && !value_get(message, "result") &&
	    !value_get(message, "error"))
		return rpc_fail(e, RPC_SHAPE, 400, "neither a request nor a response");
	if (value_get(message, "method") && !value_str(value_get(message, "method")))
		return rpc_fail(e, RPC_SHAPE, 400, "method: a string is wanted");
	if (id && !is_id(id))
		return rpc_fail(e, RPC_SHAPE, 400, "id: a string or an integer is wanted, not %s",
				value_kind_name(value_kind(id)));
	if (params && value_kind(params) != VALUE_OBJECT)
		return rpc_fail(e, RPC_PARAMS, 400, "params: an object is wanted, not %s",
				value_kind_name(value_kind(params)));
	return 0;
}

void rpc_message(struct peer *c, struct sink *s, struct value *message)
{
	struct rpc_error e = {0};

	if (check_shape(message, &e) < 0) {
		rpc_refuse(s, message, &e);
		value_free(message);
		return;
	}
	if (value_get(message, "method") && value_get(message, "id")) {
		take_request(c, s, message);
		return;
	}
	if (value_get(message, "method"))
		method_notification(c, value_str(value_get(message, "method")),
				    value_get(message, "params"));
	else
		ask_answered(c, message);
	value_free(message);
	s->send(s, NULL, 0, true, 202);
}

void rpc_text(struct peer *c, struct sink *s, const char *text, size_t len)
{
	struct value *message = NULL;
	struct rpc_error wrong = {0};
	struct err e = ERR_INIT;

	if (value_parse(text, len, &message, &e) == 0) {
		rpc_message(c, s, message);
		return;
	}
	(void)rpc_fail(&wrong, RPC_PARSE, 400, "%s", e.text);
	rpc_refuse(s, NULL, &wrong);
}
