/* SPDX-License-Identifier: Apache-2.0 */
/* Fixtures that ask: of a person, of a model, for roots; in one round or several. */
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "mcp/ask.h"
#include "mcp/fixture_int.h"
#include "mcp/mcp_int.h"
#include "mcp/text.h"

#define ELICIT "elicitation/create"
#define SAMPLE "sampling/createMessage"
#define ROOTS "roots/list"
#define NAME_FORM                                                                                      \
	"{\"message\":\"What is your name?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":" \
	"{\"name\":{\"type\":\"string\"}},\"required\":[\"name\"]}}"
#define SAMPLE_FORM                                                                                           \
	"{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"What is the capital of " \
	"France?\"}}],\"maxTokens\":100}"

/* One question; *ret_answer stays NULL while it is not answered. */
static int question(struct call *c, const char *key, const char *method, const char *params,
		    struct value **ret_answer)
{
	struct err e = ERR_INIT;

	return ask_input(c, key, method, fixture_json(params), ret_answer, &e);
}

/* -1: it is not ours, and the call fails. */
static int remembered(struct call *c, char *ret, size_t size)
{
	return ask_remembered(c, ret, size);
}

static const char *sampled(const struct value *answer)
{
	const struct value *content = value_get(answer, "content");
	const char *text = value_str(value_get(content, "text"));

	return text ? text : value_str(value_get(value_at(content, 0), "text"));
}

static int refused(struct call *c)
{
	c->reply.value = tool_text("The client cannot be asked that", true);
	return 0;
}

static int sampling(struct call *c, struct err *e)
{
	const char *prompt = arg_str(c, "prompt");
	struct value *params =
		fixture_json("{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":"
			     "\"text\"}}],\"maxTokens\":100}");
	auto_value *answer = NULL;
	auto_text t = TEXT_INIT;

	value_set(value_get(value_at(value_get(params, "messages"), 0), "content"), "text",
		  value_of_str(prompt ? prompt : ""));
	if (ask_input(c, "sample", SAMPLE, params, &answer, e) < 0)
		return refused(c);
	text_fmt(&t, "LLM response: %s", sampled(answer) ? sampled(answer) : "");
	return fixture_text(c, t.data);
}

static int elicit(struct call *c, const char *begin, struct value *params, struct err *e)
{
	auto_value *answer = NULL;
	auto_text t = TEXT_INIT;

	int r = ask_input(c, "form", ELICIT, params, &answer, e);
	if (r < 0)
		return refused(c);
	if (r > 0)
		return 0;
	const char *action = value_str(value_get(answer, "action"));
	auto_free char *content = value_text(value_get(answer, "content"), NULL);
	text_fmt(&t, "%s: action=%s, content=%s", begin, action ? action : "?",
		 content ? content : "{}");
	return fixture_text(c, t.data);
}

static int elicitation(struct call *c, struct err *e)
{
	const char *message = arg_str(c, "message");
	struct value *params = fixture_json(
		"{\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"username\":{\"type\":\"string\","
		"\"description\":\"Your name\"},\"email\":{\"type\":\"string\",\"description\":\"Your address\"}},"
		"\"required\":[\"username\",\"email\"]}}");

	value_set(params, "message", value_of_str(message ? message : "Who are you?"));
	return elicit(c, "User response", params, e);
}

static int defaults(struct call *c, struct err *e)
{
	return elicit(
		c, "Elicitation completed",
		fixture_json(
			"{\"message\":\"Please check\",\"requestedSchema\":{\"type\":\"object\","
			"\"properties\":{\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"
			"\"age\":{\"type\":\"integer\",\"default\":30},\"score\":{\"type\":\"number\","
			"\"default\":95.5},\"status\":{\"type\":\"string\",\"enum\":[\"active\","
			"\"inactive\",\"pending\"],\"default\":\"active\"},\"verified\":{\"type\":"
			"\"boolean\",\"default\":true}},\"required\":[]}}"),
		e);
}

static int enums(struct call *c, struct err *e)
{
	return elicit(
		c, "Elicitation completed",
		fixture_json(
			"{\"message\":\"Please choose\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{"
			"\"untitledSingle\":{\"type\":\"string\",\"enum\":[\"option1\",\"option2\",\"option3\"]},"
			"\"titledSingle\":{\"type\":\"string\",\"oneOf\":[{\"const\":\"value1\",\"title\":\"First "
			"Option\"},{\"const\":\"value2\",\"title\":\"Second Option\"},{\"const\":\"value3\",\"title\":"
			"\"Third Option\"}]},\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\",\"opt3\"],"
			"\"enumNames\":[\"Option One\",\"Option Two\",\"Option Three\"]},\"untitledMulti\":{\"type\":"
			"\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"option1\",\"option2\",\"option3\"]}},"
			"\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":\"value1\",\"title\":"
			"\"First Choice\"},{\"const\":\"value2\",\"title\":\"Second Choice\"},{\"const\":\"value3\","
			"\"title\":\"Third Choice\"}]}}},\"required\":[]}}"),
		e);
}

static const char *form_text(const struct value *answer, const char *field)
{
	const char *text = value_str(value_get(value_get(answer, "content"), field));

	return text ? text : "nobody";
}

static int ask_name(struct call *c, struct err *e)
{
	auto_value *answer = NULL;
	auto_text t = TEXT_INIT;

	(void)e;
	int r = question(c, "user_name", ELICIT, NAME_FORM, &answer);
	if (r)
		return r < 0 ? refused(c) : 0;
	text_fmt(&t, "Hello, %s!", form_text(answer, "name"));
	return fixture_text(c, t.data);
}

static int ask_sample(struct call *c, struct err *e)
{
	auto_value *answer = NULL;
	auto_text t = TEXT_INIT;

	(void)e;
	int r = question(c, "capital_question", SAMPLE, SAMPLE_FORM, &answer);
	if (r)
		return r < 0 ? refused(c) : 0;
	text_fmt(&t, "The model said: %s", sampled(answer) ? sampled(answer) : "");
	return fixture_text(c, t.data);
}

static int ask_roots(struct call *c, struct err *e)
{
	auto_value *answer = NULL;
	auto_text t = TEXT_INIT;

	(void)e;
	int r = question(c, "client_roots", ROOTS, "{}", &answer);
	if (r)
		return r < 0 ? refused(c) : 0;
	auto_free char *roots = value_text(value_get(answer, "roots"), NULL);
	text_fmt(&t, "Roots: %s", roots ? roots : "[]");
	return fixture_text(c, t.data);
}

static int ask_confirm(struct call *c, struct err *e)
{
	auto_value *answer = NULL;
	char state[32];

	(void)e;
	if (remembered(c, state, sizeof(state)) < 0)
		return -1;
	int r = question(
		c, "confirm", ELICIT,
		"{\"message\":\"Please confirm\",\"requestedSchema\":{\"type\":\"object\",\"properties\":"
		"{\"ok\":{\"type\":\"boolean\"}},\"required\":[\"ok\"]}}",
		&answer);
	if (r < 0)
		return refused(c);
	if (r > 0)
		ask_remember(c, "asked");
	return r > 0 ? 0 : fixture_text(c, strcmp(state, "asked") == 0 ? "state-ok" : "no state");
}

static int ask_all(struct call *c, struct err *e)
{
	auto_value *name = NULL;
	auto_value *greeting = NULL;
	auto_value *roots = NULL;
	auto_text t = TEXT_INIT;
	char state[32];

	(void)e;
	if (remembered(c, state, sizeof(state)) < 0)
		return -1;
	int a = question(c, "user_name", ELICIT, NAME_FORM, &name);
	int b = question(
		c, "greeting", SAMPLE,
		"{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"Generate a "
		"greeting\"}}],\"maxTokens\":50}",
		&greeting);
	int r = question(c, "client_roots", ROOTS, "{}", &roots);
	if (a > 0 || b > 0 || r > 0) {
		ask_remember(c, "asked");
		return 0;
	}
	text_fmt(&t, "%s %s, %zu roots", sampled(greeting) ? sampled(greeting) : "Hello",
		 form_text(name, "name"), value_len(value_get(roots, "roots")));
	return fixture_text(c, t.data);
}

static int ask_twice(struct call *c, struct err *e)
{
	auto_value *one = NULL;
	auto_value *two = NULL;
	auto_text t = TEXT_INIT;
	char state[80];

	(void)e;
	if (remembered(c, state, sizeof(state)) < 0)
		return -1;
	if (strncmp(state, "two:", 4) != 0) {
		int r = question(
			c, "step1", ELICIT,
			"{\"message\":\"Step 1: What is your name?\",\"requestedSchema\":{\"type\":\"object\","
			"\"properties\":{\"name\":{\"type\":\"string\"}},\"required\":[\"name\"]}}",
			&one);
		if (r < 0)
			return refused(c);
		if (r > 0) {
			ask_remember(c, "one");
			return 0;
		}
		text_fmt(&t, "two:%.60s", form_text(one, "name"));
	} else {
		text_put(&t, state);
	}
	int r = question(
		c, "step2", ELICIT,
		"{\"message\":\"Step 2: What is your favorite color?\",\"requestedSchema\":{\"type\":"
		"\"object\",\"properties\":{\"color\":{\"type\":\"string\"}},\"required\":[\"color\"]}}",
		&two);
	if (r < 0)
		return refused(c);
	if (r > 0) {
		ask_remember(c, t.data);
		return 0;
	}
	text_fmt(&t, " likes %s", form_text(two, "color"));
	return fixture_text(c, t.data + 4);
}

/* Only what the client said that it can. */
static int ask_possible(struct call *c, struct err *e)
{
	auto_value *name = NULL;
	auto_value *greeting = NULL;
	auto_value *roots = NULL;

	(void)e;
	int a = question(c, "user_name", ELICIT, NAME_FORM, &name);
	int b = question(c, "greeting", SAMPLE, SAMPLE_FORM, &greeting);
	int r = question(c, "client_roots", ROOTS, "{}", &roots);
	return a > 0 || b > 0 || r > 0 ? 0 : fixture_text(c, "done");
}

int fixture_prompt_asking(struct call *c, struct err *e)
{
	auto_value *answer = NULL;
	auto_text t = TEXT_INIT;

	int r = question(
		c, "user_context", ELICIT,
		"{\"message\":\"What context should the prompt use?\",\"requestedSchema\":{\"type\":"
		"\"object\",\"properties\":{\"context\":{\"type\":\"string\"}},\"required\":[\"context\"]}}",
		&answer);
	if (r)
		return r < 0 ? err_set(e, ERR_INVALID, "the client cannot be asked") : 0;
	text_fmt(&t, "Use this context: %s", form_text(answer, "context"));
	c->reply.value = fixture_json(
		"{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\"}}]}");
	value_set(value_get(value_at(value_get(c->reply.value, "messages"), 0), "content"), "text",
		  value_of_str(t.data));
	return 0;
}

#define NOTHING "{\"type\":\"object\",\"additionalProperties\":false}"
#define TEXT_ARG(key)                                                                              \
	"{\"type\":\"object\",\"properties\":{\"" key                                              \
	"\":{\"type\":\"string\",\"description\":\"A text\"}}}"
#define FIXTURE(title, what, fn, schema)                                                           \
	{                                                                                          \
		.name = "fixture", .tool = title, .summary = what, .handler = fn,                  \
		.example = schema                                                                  \
	}
#define ROUNDS "test_input_required_result_"

const struct op fixture_asking[] = {
	FIXTURE("test_sampling", "Asks a model", sampling, TEXT_ARG("prompt")),
	FIXTURE("test_elicitation", "Asks a person", elicitation, TEXT_ARG("message")),
	FIXTURE("test_elicitation_sep1034_defaults", "A form with defaults", defaults, NOTHING),
	FIXTURE("test_elicitation_sep1330_enums", "A form with choices", enums, NOTHING),
	FIXTURE(ROUNDS "elicitation", "Asks for a name", ask_name, NOTHING),
	FIXTURE(ROUNDS "sampling", "Asks a model", ask_sample, NOTHING),
	FIXTURE(ROUNDS "list_roots", "Asks for roots", ask_roots, NOTHING),
	FIXTURE(ROUNDS "request_state", "Asks and remembers", ask_confirm, NOTHING),
	FIXTURE(ROUNDS "multiple_inputs", "Asks three things", ask_all, NOTHING),
	FIXTURE(ROUNDS "multi_round", "Asks twice", ask_twice, NOTHING),
	FIXTURE(ROUNDS "tampered_state", "Asks and looks at its state", ask_confirm, NOTHING),
	FIXTURE(ROUNDS "capabilities", "Asks what it can", ask_possible, NOTHING),
};
const size_t fixture_n_asking = sizeof(fixture_asking) / sizeof(*fixture_asking);
