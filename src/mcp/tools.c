/* SPDX-License-Identifier: Apache-2.0 */
/* Tools as clients see them: the list, the call, the texts of errors. */
#include "mcp/tools.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/keeper.h"
#include "api/packages.h"
#include "base/fd.h"
#include "mcp/mcp_int.h"
#include "pinfold/pinfold.h"
#include "pinfold/policy.h"

static const struct op rows[] = {
#include "mcp/tools.def"
};

void tools_register(void)
{
	op_register(rows, sizeof(rows) / sizeof(*rows));
}

const char *tool_name(op_fn *handler)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].handler == handler)
			return rows[i].tool;
	return "";
}

bool tool_is_on(const struct mcp *m, const struct op *op)
{
	return op && op->tool && (!m->options.core || op->flags & TOOL_CORE);
}

static const char *json_type(enum arg_type type)
{
	switch (type) {
	case ARG_STRING:
	case ARG_CHOICE:
	case ARG_DOCUMENT:
	case ARG_COMMAND: return "string";
	case ARG_BOOL: return "boolean";
	case ARG_INT:
	case ARG_SIZE:
	case ARG_DURATION: return "integer";
	case ARG_CPUS: return "number";
	case ARG_INTS:
	case ARG_STRINGS: return "array";
	case ARG_PTY:
	case ARG_MAP: return "object";
	}
	return "string";
}

static struct value *standard_of(const struct op_arg *a)
{
	struct value *v = NULL;
	struct err ignored = ERR_INIT;

	if (a->type == ARG_STRING || a->type == ARG_CHOICE || a->type == ARG_COMMAND)
		return value_of_str(a->standard);
	(void)value_parse(a->standard, strlen(a->standard), &v, &ignored);
	return v;
}

static struct value *strings_of(const char *words)
{
	struct value *list = value_array();

	for (const char *p = words; *p;) {
		size_t n = strcspn(p, " ");

		value_add(list, value_of_bytes(p, n));
		p += n + (p[n] == ' ');
	}
	return list;
}

static struct value *typed(const char *type)
{
	struct value *v = value_object();

	value_set(v, "type", value_of_str(type));
	return v;
}

static struct value *property(const struct op_arg *a)
{
	struct value *v = typed(json_type(a->type));

	value_set(v, "description", value_of_str(a->help));
	if (a->type == ARG_CHOICE)
		value_set(v, "enum", strings_of(a->choices));
	if (a->type == ARG_STRINGS)
		value_set(v, "items", typed("string"));
	if (a->type == ARG_INTS)
		value_set(v, "items", typed("integer"));
	if (a->type == ARG_MAP)
		value_set(v, "additionalProperties", typed("string"));
	if (a->type == ARG_INT) {
		value_set(v, "minimum", value_of_int(a->min));
		value_set(v, "maximum", value_of_int(a->max));
	}
	if (a->standard)
		value_set(v, "default", standard_of(a));
	return v;
}

static struct value *input_schema(const struct op *op)
{
	struct value *v = typed("object"), *all = value_object(), *needed = value_array();

	for (unsigned i = 0; i < op->n_args; i++) {
		value_set(all, op->args[i].name, property(&op->args[i]));
		if (op->args[i].flags & NEEDED)
			value_add(needed, value_of_str(op->args[i].name));
	}
	value_set(v, "properties", all);
	if (value_len(needed))
		value_set(v, "required", needed);
	else
		value_free(needed);
	value_set(v, "additionalProperties", value_of_bool(false));
	return v;
}

static bool has_structure(const struct mcp *m, const struct op *op)
{
	bool small = op->handler == tool_create || op->handler == tool_status ||
		     op->handler == tool_destroy || op->handler == tool_list_files;
	bool ran = op->handler == tool_exec || op->handler == tool_run_code;

	return m->options.structured == MCP_STRUCTURED_AUTO	? small
	       : m->options.structured == MCP_STRUCTURED_ALWAYS ? small || ran
								: false;
}

/* Did the operator say which hosts sandboxes may reach? Then what runs may do so. */
static bool has_network(void)
{
	enum pinfold_ceiling says = PINFOLD_CEILING_NONE;
	struct pinfold_error none;

	return pinfold_policy_ceiling("example.org", &says, &none) == 0 &&
	       says != PINFOLD_CEILING_NONE;
}

static struct value *annotations(const struct op *op)
{
	bool runs = op->handler == tool_exec || op->handler == tool_run_code;
	struct value *v = value_object();
	bool reads = op->flags & TOOL_READS;

	value_set(v, "title", value_of_str(op->title));
	value_set(v, "readOnlyHint", value_of_bool(reads));
	value_set(v, "destructiveHint", value_of_bool(op->flags & TOOL_DESTROYS));
	value_set(v, "idempotentHint", value_of_bool(reads));
	value_set(v, "openWorldHint",
		  value_of_bool(op->flags & TOOL_OPEN_WORLD || (runs && has_network())));
	return v;
}

struct value *tools_list(const struct mcp *m)
{
	struct value *list = value_array();

	for (size_t i = 0; i < op_count(); i++) {
		const struct op *op = op_at(i);
		struct value *v;

		if (!tool_is_on(m, op))
			continue;
		v = value_object();
		value_set(v, "name", value_of_str(op->tool));
		value_set(v, "title", value_of_str(op->title));
		value_set(v, "description", value_of_str(op->summary));
		value_set(v, "inputSchema", input_schema(op));
		if (has_structure(m, op))
			value_set(v, "outputSchema", typed("object"));
		value_set(v, "annotations", annotations(op));
		value_add(list, v);
	}
	if (m->fixtures)
		m->fixtures->tools(list);
	return list;
}

static void unknown_tool(const struct mcp *m, const char *name, struct rpc_error *e)
{
	auto_text all = TEXT_INIT;

	for (size_t i = 0; i < op_count(); i++)
		if (tool_is_on(m, op_at(i)))
			text_fmt(&all, "%s%s", all.len ? ", " : "", op_at(i)->tool);
	(void)rpc_fail(e, RPC_PARAMS, 200, "Unknown tool: %.80s. Tools: %s", name, all.data);
}

/* Refused before it began; a model can mend it. */
static void refuse(struct request *r, const struct err *e)
{
	request_finish(r, tool_error(e, ""));
}

int tools_call(struct request *r, struct rpc_error *e)
{
	const char *name = value_str(value_get(r->params, "name"));
	const struct value *given = value_get(r->params, "arguments");
	struct err wrong = ERR_INIT;

	if (!name)
		return rpc_fail(e, RPC_PARAMS, 200, "name: a string is wanted");
	const struct op *op = op_of_tool(name);
	if (!tool_is_on(r->mcp, op))
		op = r->mcp->fixtures ? r->mcp->fixtures->tool(name) : NULL;
	if (!op) {
		unknown_tool(r->mcp, name, e);
		return -1;
	}
	if (given && value_kind(given) != VALUE_OBJECT) {
		(void)err_set(&wrong, ERR_INVALID, "arguments: an object is wanted, not %s",
			      value_kind_name(value_kind(given)));
		refuse(r, &wrong);
		return 0;
	}
	if (op->scope & ~r->peer->who.scopes) {
		(void)err_set(&wrong, ERR_DENIED, "this token has not the scope that %s needs",
			      name);
		refuse(r, &wrong);
		return 0;
	}
	struct value *args = given ? value_copy(given) : value_object();
	if (op->args && op_check(op, args, &wrong) < 0) {
		value_free(args);
		const bool longer =
			op->handler == tool_exec && !strncmp(wrong.text, "timeout_ms=", 11);
		if (longer)
			wrong.remedy[0] = '\0';
		if (longer)
			(void)err_remedy(
				&wrong,
				"Use timeout_ms<=600000, or background=true for longer jobs");
		refuse(r, &wrong);
	} else if (request_call(r, op, args, &wrong) < 0) {
		refuse(r, &wrong);
	}
	return 0;
}

struct value *tool_text(const char *text, bool is_error)
{
	struct value *v = value_object(), *content = value_array(), *one = value_object();

	value_set(one, "type", value_of_str("text"));
	value_set(one, "text", value_of_str(text));
	value_add(content, one);
	value_set(v, "content", content);
	if (is_error)
		value_set(v, "isError", value_of_bool(true));
	return v;
}

/* A sentence of ours begins with a capital and ends with a full stop. Names keep their case. */
static void put_sentence(struct text *t, const char *words)
{
	size_t n = strlen(words);
	size_t first = strspn(words, "abcdefghijklmnopqrstuvwxyz");
	bool word = first && (words[first] == ' ' || words[first] == ',' || !words[first]);

	/* Nor is the name of an argument or a command any other with a capital. */
	if (word &&
	    (strcmp(words + first, " is missing") == 0 || strncmp(words, "pinfold ", 8) == 0))
		word = false;

	if (!n)
		return;
	if (word) {
		char c = (char)toupper((unsigned char)words[0]);

		text_add(t, &c, 1);
		text_add(t, words + 1, n - 1);
	} else {
		text_add(t, words, n);
	}
	if (!strchr(".!?", words[n - 1]))
		text_put(t, ".");
}

/* What failed inside of us is for the log: it may name paths of the host. */
static struct value *internal_error(const struct err *e, const char *request_id)
{
	size_t n = strlen(request_id);
	const char *ref = n > 6 ? request_id + n - 6 : "none";
	auto_text t = TEXT_INIT;

	(void)fprintf(stderr, "pinfold: ref %s: %s\n", ref, e->text);
	text_fmt(&t,
		 "[internal] Pinfold failed (ref %s). Retry once; if it repeats tell the user the "
		 "reference.",
		 ref);
	return tool_text(t.data, true);
}

struct value *tool_error(const struct err *e, const char *request_id)
{
	auto_text t = TEXT_INIT;

	/* That is about us, too: where the daemon's socket is. */
	if (e->kind == ERR_INTERNAL || strncmp(e->text, "the daemon at ", 14) == 0)
		return internal_error(e, request_id);
	text_fmt(&t, e->detail[0] ? "[%s.%s] " : "[%s] ", err_code(e->kind), e->detail);
	put_sentence(&t, e->text);
	if (e->remedy[0]) {
		text_put(&t, " ");
		put_sentence(&t, e->remedy);
	}
	return tool_text(t.data, true);
}

struct mcp *tool_mcp(const struct call *c)
{
	return ((struct request *)c->transport)->mcp;
}

/* What the operator or the call wants, of code that is there to be looked at. */
static void take_code(const struct call *c, const char *lang, const struct value *code,
		      struct pinfold_run_options *o)
{
	const char *mode = arg_str(c, "deps"), *standard = getenv("PINFOLD_DEPS");

	if (!mode)
		mode = standard && strcmp(standard, "auto") == 0 ? standard : "off";
	if (!lang || strcmp(lang, "bash") == 0 || strcmp(mode, "auto") != 0)
		return;
	o->deps = mode;
	o->lang = lang;
	o->code = value_str(code);
	o->code_len = value_len(code);
}

static struct box *make_default(struct call *c, const char *lang, const struct value *code,
				struct err *e)
{
	struct pinfold_run_options o = PINFOLD_RUN_OPTIONS_INIT;
	struct pinfold_secrets_from secrets;
	auto_value *packages = NULL;
	struct box *b = NULL;

	take_code(c, lang, code, &o);
	if (packages_hold(c, &o, &packages, e) >= 0) {
		o.lang = o.code = o.deps = NULL;
		o.limits = tool_mcp(c)->options.limits;
		o.policy = access_policy(c);
		keeper_give(c, &secrets, &o);
		o.cancel_fd = call_cancelled_fd(c);
		b = box_create(c->api, &c->who, BOX_DEFAULT, &o, 0, e);
	}
	packages_drop(&o);
	if (b || e->kind != ERR_CONFLICT)
		return b;
	return box_find(c->api, &c->who, BOX_DEFAULT, e); /* somebody was faster */
}

struct box *tool_box(struct call *c, struct err *e)
{
	return tool_box_for(c, NULL, NULL, e);
}

struct box *tool_box_for(struct call *c, const char *lang, const struct value *code, struct err *e)
{
	const char *name = arg_str(c, "sandbox");
	const uint64_t idle = tool_mcp(c)->options.idle_ms;

	name = name ? name : BOX_DEFAULT;
	struct box *b = box_find(c->api, &c->who, name, e);
	if (!b && e->kind == ERR_MISSING && strcmp(name, BOX_DEFAULT) == 0)
		b = make_default(c, lang, code, e);
	else if (!b && e->kind == ERR_MISSING && box_check_name("sandbox", name, e) >= 0) {
		char live[sizeof(e->remedy)];

		(void)snprintf(live, sizeof(live), "%s", e->remedy);
		e->remedy[0] = '\0';
		(void)err_remedy(e, "Create it with %s sandbox=\"%.32s\"; %.400s",
				 tool_name(tool_create), name, live);
	}
	if (b && idle && b->idle_ms)
		b->idle_ms = idle;
	return b;
}

const char *box_label(const struct box *b)
{
	return b->name[0] ? b->name : b->id;
}

bool is_below_root(const char *path)
{
	static const char *const top[] = {"home/", "tmp/",  "usr/",	"etc/", "work/",
					  "run/",  "var/",  "opt/",	"dev/", "srv/",
					  "mnt/",  "root/", ".pinfold/"};
	size_t i = 0, n = sizeof(top) / sizeof(*top);

	while (i < n && strncmp(path, top[i], strlen(top[i])) != 0)
		i++;
	return i < n;
}

int tool_path(const char *given, char ret[4096], struct err *e)
{
	const char *path = given;

	if (strncmp(path, "file://", 7) == 0)
		path += 7;
	if (strncmp(path, "pinfold://", 10) == 0 && strstr(path, "/files/")) {
		path = strstr(path, "/files/") + 7;
		path -= is_below_root(path); /* with the slash */
	}
	if (strlen(path) > 4000 || !*path) {
		(void)err_set(e, ERR_INVALID, "path: %s", *path ? "too long" : "empty");
		return err_detail(e, "path");
	}
	(void)snprintf(ret, 4096, "%s%s", *path == '/' ? "" : "/home/user/", path);
	return 0;
}

int tool_reply(struct call *c, struct text *t, struct err *e)
{
	if (t->short_of || !t->data)
		return err_set(e, ERR_INTERNAL, "no memory for the answer");
	while (t->len && t->data[t->len - 1] == '\n')
		t->data[--t->len] = '\0';
	c->reply.value = tool_text(t->data, false);
	return 0;
}

int tool_reply_json(struct call *c, struct value *json, struct err *e)
{
	auto_free char *text = value_text(json, NULL);

	if (!text) {
		value_free(json);
		return err_set(e, ERR_INTERNAL, "no memory for the answer");
	}
	c->reply.value = tool_text(text, false);
	if (has_structure(tool_mcp(c), c->op))
		value_set(c->reply.value, "structuredContent", json);
	else
		value_free(json);
	return 0;
}

void tool_add_image(struct call *c, struct value *base64, const char *mime)
{
	struct value *v = value_object();

	value_set(v, "type", value_of_str("image"));
	value_set(v, "data", base64);
	value_set(v, "mimeType", value_of_str(mime));
	value_add(value_get(c->reply.value, "content"), v);
}

void tool_add_meta(struct call *c, struct value *exec)
{
	struct value *meta = value_object();

	if (has_structure(tool_mcp(c), c->op))
		value_set(c->reply.value, "structuredContent", value_copy(exec));
	value_set(meta, "dev.pinfold/exec", exec);
	value_set(c->reply.value, "_meta", meta);
}
