/* SPDX-License-Identifier: Apache-2.0 */
/* Messages in, answers out: shapes, eras, errors, seals. No transport and no daemon. */
#include "mcp/rpc.h"

#include "api/serve.h"
#include "base/fd.h"
#include "mcp/ask.h"
#include "mcp/mcp_int.h"
#include "tap.h"

#define MODERN                                                                                     \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                   \
	"\"io.modelcontextprotocol/clientCapabilities\":{}}"

struct world {
	struct api api;
	struct mcp *mcp;
	struct peer *peer;
};

struct heard {
	struct sink sink;
	struct value *last; /* NULL: nothing was said */
	unsigned n;	    /* messages before it */
	int http;
	bool ended;
};

static void begin(struct world *w, const struct mcp_options *o)
{
	struct who who = {.tenant = "uid-1", .scopes = SCOPE_ALL};
	struct err e = ERR_INIT;

	ok(api_open(&w->api, &e) == 0 && mcp_new(&w->api, o, &w->mcp, &e) == 0, "a server");
	w->peer = peer_new(w->mcp, &who);
}

static void end(struct world *w)
{
	peer_unref(w->peer);
	mcp_free(w->mcp);
	api_close(&w->api);
}

static void take(struct sink *s, const char *text, size_t len, bool last, int http)
{
	struct heard *h = (struct heard *)s;
	struct err e = ERR_INIT;

	if (!last) {
		h->n++;
		return;
	}
	h->ended = true;
	h->http = http;
	if (text && value_parse(text, len, &h->last, &e) < 0)
		diag("no JSON: %s", text);
}

static struct heard say_bytes(struct world *w, const char *text, size_t len)
{
	struct heard h = {.sink.send = take};

	rpc_text(w->peer, &h.sink, text, len);
	return h;
}

static struct heard say(struct world *w, const char *text)
{
	return say_bytes(w, text, strlen(text));
}

static void is_error(struct world *w, const char *text, int code, int http, const char *name)
{
	struct heard h = say(w, text);

	is_int(value_int(value_get(value_get(h.last, "error"), "code")), code, name);
	if (http)
		is_int(h.http, http, name);
	value_free(h.last);
}

static void shapes(void)
{
	struct world w = {0};
	char deep[400];

	begin(&w, &(struct mcp_options){0});
	is_error(&w, "{", RPC_PARSE, 400, "no JSON");
	is_error(&w, "", RPC_PARSE, 400, "nothing");
	is_error(&w, "{\"a\":1,\"a\":2}", RPC_PARSE, 400, "a key twice");
	memset(deep, '[', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	is_error(&w, deep, RPC_PARSE, 400, "too deep");
	is_error(&w, "[]", RPC_SHAPE, 400, "a batch");
	is_error(&w, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", RPC_SHAPE, 400,
		 "a full one");
	is_error(&w, "5", RPC_SHAPE, 400, "a number");
	is_error(&w, "{}", RPC_SHAPE, 400, "an empty object");
	is_error(&w, "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", RPC_SHAPE, 400,
		 "another version");
	is_error(&w, "{\"jsonrpc\":\"2.0\",\"id\":1}", RPC_SHAPE, 400, "neither this nor that");
	is_error(&w, "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", RPC_SHAPE, 400,
		 "half an id");
	is_error(&w, "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", RPC_SHAPE, 400,
		 "a null id");
	is_error(&w, "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", RPC_SHAPE, 400,
		 "an object");
	is_error(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", RPC_SHAPE, 400,
		 "a method's number");
	is_error(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}", RPC_PARAMS,
		 400, "parameters in a row");
	is_error(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"nosuch\"}", RPC_METHOD, 200,
		 "unknown");
	end(&w);
}

static void ids(void)
{
	struct world w = {0};

	begin(&w, &(struct mcp_options){0});
	struct heard h = say(&w, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}");
	ok(value_kind(value_get(h.last, "id")) == VALUE_INT && value_get(h.last, "result"),
	   "0 is an id");
	value_free(h.last);
	h = say(&w, "{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"ping\"}");
	is_str(value_str(value_get(h.last, "id")), "", "so is an empty text");
	value_free(h.last);
	h = say(&w, "{\"jsonrpc\":\"2.0\",\"id\":\"x\\u0000y\",\"method\":\"ping\"}");
	is_int((long long)value_len(value_get(h.last, "id")), 3, "a NUL in it comes back");
	value_free(h.last);
	h = say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
	ok(h.ended && !h.last && h.http == 202, "a notification has no answer");
	h = say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"nosuch\"}");
	ok(h.ended && !h.last, "nor has an unknown one");
	h = say(&w, "{\"jsonrpc\":\"2.0\",\"id\":\"q1\",\"result\":{}}");
	ok(h.ended && !h.last, "nor a response that nobody waits for");
	h = say(&w,
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":9}}");
	ok(h.ended && !h.last, "nor a cancel of nothing");
	end(&w);
}

static const char *str_at(const struct heard *h, const char *a, const char *b)
{
	return value_str(value_get(b ? value_get(value_get(h->last, "result"), a)
				     : value_get(h->last, "result"),
				   b ? b : a));
}

static void legacy(void)
{
	struct world w = {0};

	begin(&w, &(struct mcp_options){0});
	struct heard h =
		say(&w,
		    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
		    "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"elicitation\":{}}}}");
	is_str(str_at(&h, "protocolVersion", NULL), "2025-06-18", "a known version is taken");
	is_str(str_at(&h, "serverInfo", "name"), "pinfold", "who we are");
	ok(!value_get(value_get(h.last, "result"), "resultType"), "nothing modern in it");
	value_free(h.last);
	is_int(w.peer->client, CLIENT_FORM, "an empty elicitation means forms");
	h = say(&w,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
		"\"2026-07-28\",\"capabilities\":{}}}");
	is_str(str_at(&h, "protocolVersion", NULL), RPC_LEGACY,
	       "an unknown one becomes our newest");
	value_free(h.last);
	is_error(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}",
		 RPC_PARAMS, 0, "without a version");
	is_error(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}", RPC_METHOD, 0,
		 "discover is not theirs");
	is_error(
		&w,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\",\"params\":{\"level\":"
		"\"loud\"}}",
		RPC_PARAMS, 0, "a level that is none");
	end(&w);
}

static void modern(void)
{
	struct world w = {0};

	begin(&w, &(struct mcp_options){0});
	struct heard h = say(
		&w,
		"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"server/discover\",\"params\":{" MODERN
		"}}");
	is_str(str_at(&h, "resultType", NULL), "complete", "results say that they are complete");
	is_str(value_str(value_at(value_get(value_get(h.last, "result"), "supportedVersions"), 0)),
	       RPC_MODERN, "the version");
	is_str(str_at(&h, "cacheScope", NULL), "private", "and how long they are good");
	value_free(h.last);
	is_error(&w,
		 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{" MODERN "}}",
		 RPC_METHOD, 404, "no handshake");
	is_error(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{" MODERN "}}",
		 RPC_METHOD, 404, "no ping");
	is_error(
		&w,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{\"io."
		"modelcontextprotocol/protocolVersion\":\"v999\",\"io.modelcontextprotocol/"
		"clientCapabilities\":{}}}}",
		RPC_VERSION, 400, "a version that is not served");
	is_error(
		&w,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{\"io."
		"modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}",
		RPC_PARAMS, 400, "without capabilities");
	is_error(
		&w,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{\"io."
		"modelcontextprotocol/protocolVersion\":7}}}",
		RPC_PARAMS, 400, "a version that is a number");
	/* The era is each message's own. */
	h = say(&w,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
		"\"2025-11-25\"}}");
	ok(value_get(h.last, "result"), "a handshake after that is answered");
	value_free(h.last);
	end(&w);
}

static void tools(void)
{
	struct world w = {0};

	begin(&w, &(struct mcp_options){0});
	tools_register();
	struct heard h = say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
	const struct value *list = value_get(value_get(h.last, "result"), "tools");
	is_int((long long)value_len(list), 13, "thirteen tools");
	int bad = 0;
	for (size_t i = 0; i < value_len(list); i++) {
		const struct value *schema = value_get(value_at(list, i), "inputSchema");
		const struct value *all = value_get(schema, "properties");

		bad += value_true(value_get(schema, "additionalProperties"));
		for (const char *key = NULL; (key = value_next_key(all, key));)
			bad += !value_str(value_get(value_get(all, key), "type")) ||
			       !value_len(value_get(value_get(all, key), "description"));
	}
	is_int(bad, 0, "every argument has a type and a description, no schema is open");
	value_free(h.last);
	is_error(
		&w,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":\"x\"}}",
		RPC_PARAMS, 0, "a cursor that we did not give");
	is_error(
		&w,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"nosuch\"}}",
		RPC_PARAMS, 0, "an unknown tool");
	is_error(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{}}",
		 RPC_PARAMS, 0, "no name");
	w.mcp->options.core = true;
	h = say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
	is_int((long long)value_len(value_get(value_get(h.last, "result"), "tools")), 4,
	       "the core is four");
	value_free(h.last);
	end(&w);
}

static void is_refused(struct world *w, const char *args, const char *want, const char *name)
{
	char text[600];

	snprintf(
		text, sizeof(text),
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"sandbox_exec\","
		"\"arguments\":%s}}",
		args);
	struct heard h = say(w, text);
	const struct value *result = value_get(h.last, "result");
	const char *said = value_str(value_get(value_at(value_get(result, "content"), 0), "text"));

	ok(value_true(value_get(result, "isError")), name);
	is_str(said, want, name);
	value_free(h.last);
}

static void arguments(void)
{
	struct world w = {0};

	begin(&w, &(struct mcp_options){0});
	tools_register();
	is_refused(&w, "null", "[invalid_argument] arguments: an object is wanted, not null.",
		   "null");
	is_refused(&w, "{}",
		   "[invalid_argument] command is missing. Give command: The command line, for "
		   "bash -lc.",
		   "nothing");
	is_refused(
		&w, "{\"command\":\"x\",\"workdir\":\"/\"}",
		"[invalid_argument.unknown] \"workdir\" is not accepted by sandbox_exec. Accepted: command, "
		"sandbox, cwd, env, stdin, timeout_ms, background, max_output_chars. Did you mean \"cwd\"?",
		"one that is not there");
	is_refused(
		&w, "{\"command\":\"x\",\"timeout_ms\":900000}",
		"[invalid_argument] timeout_ms=900000 is above the maximum 600000. Use timeout_ms<=600000, or "
		"background=true for longer jobs.",
		"too large");
	is_refused(&w, "{\"command\":5}",
		   "[invalid_argument] command: a string is wanted, not an integer.",
		   "of another type");
	is_refused(&w, "{\"command\":\"x\",\"env\":{\"A\":1}}",
		   "[invalid_argument] env.A: a string is wanted, not an integer.", "in a map");
	end(&w);
}

static void seals(void)
{
	struct approvals *a = NULL, *b = NULL;
	struct err e = ERR_INIT;
	auto_value *payload = value_object();
	int opened = 0;

	ok(approvals_new(&a, &e) == 0 && approvals_new(&b, &e) == 0, "two keys");
	value_set(payload, "w", value_of_str("asked"));
	auto_free char *text = state_seal(a, payload);
	struct value *back = state_open(a, text);
	is_str(value_str(value_get(back, "w")), "asked", "what was sealed comes back");
	value_free(back);
	back = state_open(b, text);
	ok(!back, "not with another key");
	for (size_t i = 0; i < strlen(text); i++) {
		char old = text[i];

		text[i] = old == 'A' ? 'B' : 'A';
		back = state_open(a, text);
		/* The last character of a group may have bits that stand for nothing. */
		opened += back && !value_equal(back, payload);
		value_free(back);
		text[i] = old;
	}
	is_int(opened, 0, "nor with a character changed");
	static const char *const odd[] = {"",	    "v1",     "v1.",	      "v1..",
					  "v1.a.b", "v2.x.y", "v1.====.====", "..."};
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++)
		opened += !!state_open(a, odd[i]);
	is_int(opened, 0, "nor what is none");
	approvals_free(a);
	approvals_free(b);
}

/* Any bytes are answered once, or are a notification. */
static void mutated(void)
{
	static const char base[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" MODERN "}}";
	struct world w = {0};
	uint32_t seed = 99;
	int bad = 0;

	begin(&w, &(struct mcp_options){0});
	for (int i = 0; i < 20000; i++) {
		char text[sizeof(base)];

		memcpy(text, base, sizeof(base));
		for (int k = 0; k < 3; k++) {
			seed = seed * 1103515245 + 12345;
			text[(seed >> 8) % (sizeof(base) - 1)] = (char)(seed >> 20);
		}
		struct heard h = say_bytes(&w, text, sizeof(base) - 1);
		bad += !h.ended ||
		       (h.last && !value_get(h.last, "result") && !value_get(h.last, "error"));
		value_free(h.last);
	}
	is_int(bad, 0, "20,000 messages with bytes changed");
	end(&w);
}

int main(void)
{
	value_init();
	TAP_RUN(shapes);
	TAP_RUN(ids);
	TAP_RUN(legacy);
	TAP_RUN(modern);
	TAP_RUN(tools);
	TAP_RUN(arguments);
	TAP_RUN(seals);
	TAP_RUN(mutated);
	return tap_done();
}
