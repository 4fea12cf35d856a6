/* SPDX-License-Identifier: Apache-2.0 */
/* Tools, prompts and resources with fixed behaviour, as the scenarios of the suite describe
 * them. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "mcp/fixture_int.h"
#include "mcp/mcp_int.h"
#include "mcp/text.h"

#define STEP_MS 50
#define WAV "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=="

struct value *fixture_json(const char *text)
{
	struct value *v = NULL;
	struct err ignored = ERR_INIT;

	(void)value_parse(text, strlen(text), &v, &ignored);
	return v;
}

int fixture_text(struct call *c, const char *text)
{
	c->reply.value = tool_text(text, false);
	return 0;
}

/* A notification from a handler's thread; its call is done behind it. */
struct note {
	struct task task;
	struct request *request;
	const char *method;
	struct value *params;
	const char *key; /* of a subscription; NULL: it is for the request's stream */
};

static void send_note(struct task *t)
{
	struct note *n = (struct note *)t;

	if (n->key)
		listen_tell(n->request->mcp, n->key, n->method);
	else
		request_notify(n->request, n->method, take_ptr(&n->params));
	value_free(n->params);
	free(n);
}

static void tell(struct call *c, const char *method, struct value *params, const char *key)
{
	struct note *n = calloc(1, sizeof(*n));

	if (!n) {
		value_free(params);
		return;
	}
	*n = (struct note){{.run = send_note}, c->transport, method, params, key};
	loop_post(c->api->loop, &n->task);
}

static void log_line(struct call *c, const char *text)
{
	struct request *r = c->transport;
	struct value *v;

	/* A legacy client that never said which level hears all. */
	if (r->log_level < 0 && r->modern)
		return;
	v = fixture_json("{\"level\":\"info\",\"logger\":\"fixture\"}");
	value_set(v, "data", value_of_str(text));
	tell(c, "notifications/message", v, NULL);
}

static void pause_for(struct call *c)
{
	struct pollfd p = {.fd = call_cancelled_fd(c), .events = POLLIN};

	(void)poll(&p, 1, STEP_MS);
}

static int simple_text(struct call *c, struct err *e)
{
	(void)e;
	return fixture_text(c, "This is a simple text response for testing.");
}

static int fixed(struct call *c, const char *json)
{
	c->reply.value = fixture_json(json);
	return 0;
}

static int image(struct call *c, struct err *e)
{
	(void)e;
	return fixed(
		c,
		"{\"content\":[{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"" FIXTURE_PNG
		"\"}]}");
}

static int audio(struct call *c, struct err *e)
{
	(void)e;
	return fixed(c,
		     "{\"content\":[{\"type\":\"audio\",\"mimeType\":\"audio/wav\",\"data\":\"" WAV
		     "\"}]}");
}

static int embedded(struct call *c, struct err *e)
{
	(void)e;
	return fixed(
		c,
		"{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"test://embedded-resource\","
		"\"mimeType\":\"text/plain\",\"text\":\"This is an embedded resource content.\"}}]}");
}

static int mixed(struct call *c, struct err *e)
{
	(void)e;
	return fixed(
		c,
		"{\"content\":[{\"type\":\"text\",\"text\":\"Multiple content types test:\"},"
		"{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"" FIXTURE_PNG "\"},"
		"{\"type\":\"resource\",\"resource\":{\"uri\":\"test://mixed-content-resource\","
		"\"mimeType\":\"application/json\",\"text\":\"{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}\"}}]}");
}

static int failing(struct call *c, struct err *e)
{
	(void)e;
	c->reply.value = tool_text("This tool intentionally returns an error for testing", true);
	return 0;
}

static int logging(struct call *c, struct err *e)
{
	(void)e;
	log_line(c, "Tool execution started");
	pause_for(c);
	log_line(c, "Tool processing data");
	pause_for(c);
	log_line(c, "Tool execution completed");
	return fixture_text(c, "Tool with logging executed successfully");
}

static int progress(struct call *c, struct err *e)
{
	const struct request *r = c->transport;

	(void)e;
	for (int n = 0; n <= 100; n += 50) {
		if (r->token) {
			struct value *v = fixture_json("{\"total\":100}");

			value_set(v, "progressToken", value_copy(r->token));
			value_set(v, "progress", value_of_int(n));
			tell(c, "notifications/progress", v, NULL);
		}
		pause_for(c);
	}
	return fixture_text(c, "Progress completed");
}

static int missing_capability(struct call *c, struct err *e)
{
	struct request *r = c->transport;

	(void)e;
	if (r->client & CLIENT_SAMPLING)
		return fixture_text(c, "sampling is declared");
	r->fault.data = fixture_json("{\"requiredCapabilities\":{\"sampling\":{}}}");
	return rpc_fail(&r->fault, RPC_CAPABILITY, 400,
			"Client did not declare required capability: sampling");
}

static int anything(struct call *c, struct err *e)
{
	(void)e;
	return fixture_text(c, "done");
}

static int tools_changed(struct call *c, struct err *e)
{
	(void)e;
	tell(c, "notifications/tools/list_changed", NULL, "toolsListChanged");
	return fixture_text(c, "published");
}

static int prompts_changed(struct call *c, struct err *e)
{
	(void)e;
	tell(c, "notifications/prompts/list_changed", NULL, "promptsListChanged");
	return fixture_text(c, "published");
}

#define NOTHING "{\"type\":\"object\",\"additionalProperties\":false}"
#define FIXTURE(title, what, fn, schema)                                                           \
	{                                                                                          \
		.name = "fixture", .tool = title, .summary = what, .handler = fn,                  \
		.example = schema                                                                  \
	}

static const struct op plain[] = {
	FIXTURE("test_simple_text", "Returns a text", simple_text, NOTHING),
	FIXTURE("test_image_content", "Returns an image", image, NOTHING),
	FIXTURE("test_audio_content", "Returns audio", audio, NOTHING),
	FIXTURE("test_embedded_resource", "Returns a resource", embedded, NOTHING),
	FIXTURE("test_multiple_content_types", "Returns several kinds", mixed, NOTHING),
	FIXTURE("test_tool_with_logging", "Logs as it goes", logging, NOTHING),
	FIXTURE("test_error_handling", "Returns an error", failing, NOTHING),
	FIXTURE("test_tool_with_progress", "Reports progress", progress, NOTHING),
	FIXTURE("test_missing_capability", "Needs sampling", missing_capability, NOTHING),
	FIXTURE("test_streaming_elicitation", "Asks nothing on its stream", anything, NOTHING),
	FIXTURE("test_logging_tool", "Logs when it is asked to", logging, NOTHING),
	FIXTURE("test_trigger_tool_change", "Says that tools changed", tools_changed, NOTHING),
	FIXTURE("test_trigger_prompt_change", "Says that prompts changed", prompts_changed,
		NOTHING),
	FIXTURE("test_x_mcp_header", "Has an argument in a header", anything,
		"{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\",\"description\":\"A region\","
		"\"x-mcp-header\":\"Region\"}},\"additionalProperties\":false}"),
	FIXTURE("json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", anything,
		"{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\",\"$defs\":"
		"{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":{\"street\":{\"type\":"
		"\"string\"},\"city\":{\"type\":\"string\"}}}},\"properties\":{\"name\":{\"type\":\"string\"},"
		"\"address\":{\"$ref\":\"#/$defs/address\"},\"contactMethod\":{\"type\":\"string\",\"enum\":["
		"\"phone\",\"email\"]},\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},\"allOf\":["
		"{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],\"if\":{\"properties\":"
		"{\"contactMethod\":{\"const\":\"phone\"}},\"required\":[\"contactMethod\"]},\"then\":{\"required\":"
		"[\"phone\"]},\"else\":{\"required\":[\"email\"]},\"additionalProperties\":false}"),
};
#define PLAIN (sizeof(plain) / sizeof(*plain))

static void add_tools(struct value *list, const struct op *ops, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct value *v = value_object();

		value_set(v, "name", value_of_str(ops[i].tool));
		value_set(v, "description", value_of_str(ops[i].summary));
		value_set(v, "inputSchema", fixture_json(ops[i].example));
		value_add(list, v);
	}
}

static void tools(struct value *list)
{
	add_tools(list, plain, PLAIN);
	add_tools(list, fixture_asking, fixture_n_asking);
}

static const struct op *find(const struct op *ops, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(ops[i].tool, name) == 0)
			return &ops[i];
	return NULL;
}

static const struct op *tool(const char *name)
{
	const struct op *op = find(plain, PLAIN, name);

	return op ? op : find(fixture_asking, fixture_n_asking, name);
}

static void resources(struct value *list)
{
	value_add(
		list,
		fixture_json(
			"{\"uri\":\"test://static-text\",\"name\":\"Static text\",\"description\":"
			"\"A fixed text\",\"mimeType\":\"text/plain\"}"));
	value_add(list,
		  fixture_json("{\"uri\":\"test://static-binary\",\"name\":\"Static binary\","
			       "\"description\":\"A fixed image\",\"mimeType\":\"image/png\"}"));
	value_add(list,
		  fixture_json(
			  "{\"uri\":\"test://watched-resource\",\"name\":\"Watched\","
			  "\"description\":\"Can be subscribed to\",\"mimeType\":\"text/plain\"}"));
}

static void templates(struct value *list)
{
	value_add(list,
		  fixture_json(
			  "{\"uriTemplate\":\"test://template/{id}/data\",\"name\":\"Template\","
			  "\"description\":\"Data by id\",\"mimeType\":\"application/json\"}"));
}

static struct value *content_of(const char *uri, const char *mime, const char *key,
				const char *data)
{
	struct value *v = value_object(), *list = value_array(), *one = value_object();

	value_set(one, "uri", value_of_str(uri));
	value_set(one, "mimeType", value_of_str(mime));
	value_set(one, key, value_of_str(data));
	value_add(list, one);
	value_set(v, "contents", list);
	return v;
}

static int read_one(struct request *r, const char *uri, struct value **ret)
{
	char id[40] = "", text[160];

	(void)r;
	if (!strcmp(uri, "test://static-text"))
		*ret = content_of(uri, "text/plain", "text",
				  "This is the content of the static text resource.");
	else if (!strcmp(uri, "test://static-binary"))
		*ret = content_of(uri, "image/png", "blob", FIXTURE_PNG);
	else if (!strcmp(uri, "test://watched-resource"))
		*ret = content_of(uri, "text/plain", "text", "Watched");
	else if (sscanf(uri, "test://template/%39[A-Za-z0-9]/data", id) == 1) {
		(void)snprintf(text, sizeof(text),
			       "{\"id\":\"%s\",\"templateTest\":true,\"data\":\"Data for ID: %s\"}",
			       id, id);
		*ret = content_of(uri, "application/json", "text", text);
	} else {
		return 0;
	}
	return 1;
}

static int prompt_simple(struct call *c, struct err *e)
{
	(void)e;
	return fixed(c, "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":"
			"\"This is a simple prompt for testing.\"}}]}");
}

static int prompt_arguments(struct call *c, struct err *e)
{
	const char *one = arg_str(c, "arg1"), *two = arg_str(c, "arg2");
	auto_text t = TEXT_INIT;

	(void)e;
	text_fmt(&t, "Prompt with arguments: arg1='%s', arg2='%s'", one ? one : "", two ? two : "");
	(void)fixed(c, "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\"}}]}");
	value_set(value_get(value_at(value_get(c->reply.value, "messages"), 0), "content"), "text",
		  value_of_str(t.data));
	return 0;
}

static int prompt_resource(struct call *c, struct err *e)
{
	const char *uri = arg_str(c, "resourceUri");

	(void)e;
	(void)fixed(
		c,
		"{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"resource\",\"resource\":"
		"{\"mimeType\":\"text/plain\",\"text\":\"Embedded resource content for testing.\"}}},"
		"{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":"
		"\"Please process the embedded resource above.\"}}]}");
	value_set(
		value_get(value_get(value_at(value_get(c->reply.value, "messages"), 0), "content"),
			  "resource"),
		"uri", value_of_str(uri ? uri : "test://example-resource"));
	return 0;
}

static int prompt_image(struct call *c, struct err *e)
{
	(void)e;
	return fixed(
		c, "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"image\",\"mimeType\":"
		   "\"image/png\",\"data\":\"" FIXTURE_PNG
		   "\"}},{\"role\":\"user\",\"content\":{\"type\":"
		   "\"text\",\"text\":\"Please analyze the image above.\"}}]}");
}

/* `example`: the arguments. */
static const struct op prompt_ops[] = {
	FIXTURE("test_simple_prompt", "A fixed prompt", prompt_simple, "[]"),
	FIXTURE("test_prompt_with_arguments", "A prompt with arguments", prompt_arguments,
		"[{\"name\":\"arg1\",\"description\":\"First\",\"required\":true},"
		"{\"name\":\"arg2\",\"description\":\"Second\",\"required\":true}]"),
	FIXTURE("test_prompt_with_embedded_resource", "A prompt with a resource", prompt_resource,
		"[{\"name\":\"resourceUri\",\"description\":\"Which\",\"required\":true}]"),
	FIXTURE("test_prompt_with_image", "A prompt with an image", prompt_image, "[]"),
	FIXTURE("test_input_required_result_prompt", "A prompt that asks", fixture_prompt_asking,
		"[]"),
};
#define PROMPTS (sizeof(prompt_ops) / sizeof(*prompt_ops))

static void prompts(struct value *list)
{
	for (size_t i = 0; i < PROMPTS; i++) {
		struct value *v = value_object();

		value_set(v, "name", value_of_str(prompt_ops[i].tool));
		value_set(v, "description", value_of_str(prompt_ops[i].summary));
		value_set(v, "arguments", fixture_json(prompt_ops[i].example));
		value_add(list, v);
	}
}

static const struct op *prompt(const char *name)
{
	return find(prompt_ops, PROMPTS, name);
}

static struct value *complete(const struct value *params)
{
	(void)params;
	return fixture_json(
		"{\"completion\":{\"values\":[\"one\",\"two\"],\"total\":2,\"hasMore\":false}}");
}

const struct fixtures mcp_fixtures = {
	.tools = tools,
	.tool = tool,
	.resources = resources,
	.templates = templates,
	.read = read_one,
	.prompts = prompts,
	.prompt = prompt,
	.complete = complete,
};
