/* SPDX-License-Identifier: Apache-2.0 */
#include "api/openapi.h"

#include <stdio.h>
#include <string.h>

#include "pinfold/pinfold.h"

static struct value *object_of(const char *key, struct value *v)
{
	struct value *o = value_object();

	value_set(o, key, v);
	return o;
}

static struct value *ref(const char *name)
{
	char path[80];

	(void)snprintf(path, sizeof(path), "#/components/schemas/%s", name);
	return object_of("$ref", value_of_str(path));
}

static struct value *of_type(const char *type)
{
	return object_of("type", value_of_str(type));
}

static struct value *strings(void)
{
	struct value *o = of_type("array");

	value_set(o, "items", of_type("string"));
	return o;
}

/* A number, of which `unit` is said, or a text with a unit. */
static struct value *amount(const char *number, const char *unit, const char *text)
{
	struct value *either = value_array(), *plain = of_type(number),
		     *with_unit = of_type("string");

	if (unit)
		value_set(plain, "description", value_of_str(unit));
	if (text)
		value_set(with_unit, "description", value_of_str(text));
	value_add(either, plain);
	value_add(either, with_unit);
	return object_of("oneOf", either);
}

static struct value *choices(const char *list)
{
	struct value *o = of_type("string"), *all = value_array();

	for (const char *p = list; *p;) {
		size_t n = strcspn(p, " ");

		value_add(all, value_of_bytes(p, n));
		p += n + (p[n] == ' ');
	}
	value_set(o, "enum", all);
	return o;
}

/* true, or how large it is. */
static struct value *pty(void)
{
	struct value *either = value_array(), *size = of_type("object"), *parts = value_object();

	value_set(parts, "rows", of_type("integer"));
	value_set(parts, "cols", of_type("integer"));
	value_set(size, "properties", parts);
	value_set(size, "additionalProperties", value_of_bool(false));
	value_add(either, of_type("boolean"));
	value_add(either, size);
	return object_of("oneOf", either);
}

static struct value *base_schema(const struct op_arg *a)
{
	struct value *o = NULL, *either;

	switch (a->type) {
	case ARG_STRING:
		if (a->flags & OR_INT)
			return amount("integer", NULL, NULL);
		o = of_type("string");
		if (a->min)
			value_set(o, "minLength", value_of_int(a->min));
		if (a->max)
			value_set(o, "maxLength", value_of_int(a->max));
		return o;
	case ARG_BOOL: return of_type("boolean");
	case ARG_INT:
		o = of_type("integer");
		if (a->min > INT64_MIN)
			value_set(o, "minimum", value_of_int(a->min));
		if (a->max && a->max < INT64_MAX)
			value_set(o, "maximum", value_of_int(a->max));
		return o;
	case ARG_SIZE: return amount("integer", "bytes", "with a unit, such as 512M");
	case ARG_DURATION: return amount("integer", "milliseconds", "with a unit, such as 10s");
	case ARG_CPUS: return amount("number", NULL, NULL);
	case ARG_CHOICE: return choices(a->choices);
	case ARG_COMMAND:
		either = value_array();
		value_add(either, of_type("string"));
		value_add(either, strings());
		return object_of("oneOf", either);
	case ARG_STRINGS: return strings();
	case ARG_INTS:
		o = of_type("array");
		value_set(o, "items", of_type("integer"));
		return o;
	case ARG_PTY: return pty();
	case ARG_DOCUMENT:
		either = value_array();
		value_add(either, of_type("object"));
		value_add(either, of_type("string"));
		return object_of("oneOf", either);
	case ARG_MAP:
		o = of_type("object");
		value_set(o, "additionalProperties", of_type("string"));
		return o;
	}
	return o;
}

struct value *schema_of_arg(const struct op_arg *a)
{
	struct value *o = base_schema(a), *number = NULL;
	struct err ignored = ERR_INIT;

	value_set(o, "description", value_of_str(a->help));
	if (a->standard && a->type == ARG_INT &&
	    value_parse(a->standard, strlen(a->standard), &number, &ignored) == 0)
		value_set(o, "default", number);
	else if (a->standard)
		value_set(o, "default", value_of_str(a->standard));
	return o;
}

/* What the path calls its next argument; *at goes on behind it. */
static struct value *name_in_path(const char **at)
{
	const char *open = strchr(*at, '{'), *close = strchr(open, '}');

	*at = close + 1;
	return value_of_bytes(open + 1, (size_t)(close - open - 1));
}

static struct value *parameters(const struct op *op)
{
	struct value *list = value_array();
	const char *path = op->path;

	for (unsigned i = 0; i < op->n_args; i++) {
		const struct op_arg *a = &op->args[i];
		struct value *p;

		if (!(a->flags & (IN_PATH | IN_QUERY)))
			continue;
		p = value_object();
		value_set(p, "name",
			  a->flags & IN_PATH ? name_in_path(&path) : value_of_str(a->name));
		value_set(p, "in", value_of_str(a->flags & IN_PATH ? "path" : "query"));
		value_set(p, "required", value_of_bool(a->flags & (NEEDED | IN_PATH)));
		value_set(p, "schema", schema_of_arg(a));
		value_set(p, "description", value_of_str(a->help));
		value_add(list, p);
	}
	if (op->flags & OP_STREAM) {
		struct value *p = value_object();

		value_set(p, "name", value_of_str("stream"));
		value_set(p, "in", value_of_str("query"));
		value_set(p, "schema", of_type("boolean"));
		value_set(p, "description", value_of_str("answer with server-sent events"));
		value_add(list, p);
	}
	return list;
}

static struct value *content(const char *type, struct value *schema)
{
	return object_of(type, object_of("schema", schema));
}

static struct value *body_of(const struct op *op)
{
	struct value *o, *schema = of_type("object"), *properties = value_object(),
			 *needed = value_array();

	for (unsigned i = 0; i < op->n_args; i++) {
		const struct op_arg *a = &op->args[i];

		if (!(a->flags & IN_BODY))
			continue;
		value_set(properties, a->name, schema_of_arg(a));
		if (a->flags & NEEDED)
			value_add(needed, value_of_str(a->name));
	}
	bool required = value_len(needed) > 0;
	value_set(schema, "properties", properties);
	value_set(schema, "additionalProperties", value_of_bool(false));
	if (required)
		value_set(schema, "required", needed);
	else
		value_free(needed);
	struct value *media = object_of("schema", schema), *example = NULL;
	struct err ignored = ERR_INIT;
	if (op->example && value_parse(op->example, strlen(op->example), &example, &ignored) == 0)
		value_set(media, "example", example);
	o = object_of("content", object_of("application/json", media));
	value_set(o, "required", value_of_bool(required));
	return o;
}

static bool has_body(const struct op *op)
{
	for (unsigned i = 0; i < op->n_args; i++)
		if (op->args[i].flags & IN_BODY)
			return true;
	return false;
}

static bool has_arg(const struct op *op, const char *name)
{
	for (unsigned i = 0; i < op->n_args; i++)
		if (strcmp(op->args[i].name, name) == 0)
			return true;
	return false;
}

static struct value *answers(const struct op *op)
{
	struct value *all = value_object(), *good = value_object(), *bad = value_object();
	const char *code = op->flags & OP_CREATED ? "201" : "200";

	value_set(good, "description", value_of_str(op->summary));
	if (op->flags & OP_EVENTS)
		value_set(good, "content", content("text/event-stream", of_type("string")));
	else if (op->flags & OP_RAW_REPLY)
		value_set(good, "content", content("application/octet-stream", value_object()));
	else if (op->returns)
		value_set(good, "content", content("application/json", ref(op->returns)));
	else if (!op->scope)
		value_set(good, "content", content("application/json", of_type("object")));
	else
		code = "204";
	value_set(all, code, good);
	if (has_arg(op, "detach")) {
		struct value *begun = value_object();

		value_set(begun, "description", value_of_str("It has begun, and goes on"));
		value_set(begun, "content", content("application/json", ref("RunSummary")));
		value_set(all, "202", begun);
	}
	value_set(bad, "description", value_of_str("It was not done; the code says why"));
	value_set(bad, "content", content("application/json", ref("Error")));
	value_set(all, "default", bad);
	return all;
}

static struct value *operation(const struct op *op)
{
	struct value *o = value_object(), *tags = value_array();
	const char *dot = strchr(op->name, '.');

	value_add(tags, value_of_bytes(op->name, (size_t)(dot - op->name)));
	value_set(o, "operationId", value_of_str(op->name));
	value_set(o, "summary", value_of_str(op->summary));
	value_set(o, "tags", tags);
	if (op->scope)
		value_set(o, "x-scope", value_of_str(scope_name(op->scope)));
	if (op->flags & OP_PROBE) { /* nothing is enough where the operator said so */
		struct value *either = value_array();

		value_add(either, object_of("token", value_array()));
		value_add(either, value_object());
		value_set(o, "security", either);
	}
	value_set(o, "parameters", parameters(op));
	if (has_body(op))
		value_set(o, "requestBody", body_of(op));
	if (op->flags & OP_RAW_BODY) {
		struct value *body =
			object_of("content", content("application/octet-stream", value_object()));

		value_set(body, "required", value_of_bool(true));
		value_set(o, "requestBody", body);
	}
	value_set(o, "responses", answers(op));
	return o;
}

/* Shapes of answers: name, then its properties as "name:type" with blanks between; a type that
 * begins with a capital is another of them, with [] a list of it, with ? it may be null. */
static const char *const shapes[][2] = {
	{"Error", "error:ErrorBody"},
	{"ErrorBody", "code:string message:string remedy:string"},
	{"Stream",
	 "text:string encoding:string bytes:integer truncated:boolean "
	 "omitted_bytes:integer head_bytes:integer control_bytes:boolean artifact:string?"},
	{"Usage", "wall_ms:number cpu_ms:number memory_peak_bytes:integer processes_peak:integer "
		  "disk_bytes:integer"},
	{"Run",
	 "id:string sandbox:string? workspace:string? snapshot:integer? isolation:string "
	 "start:string? status:string "
	 "exit_code:integer? signal:any stdout:Stream stderr:Stream usage:object "
	 "limits:object limit:any denials:any files:any network:any alerts:any error:any receipt:any "
	 "sandbox_ended:boolean"},
	{"Receipt", "payload:string payloadType:string signatures:Signature[]"},
	{"Signature", "keyid:string sig:string"},
	{"RunSummary", "id:string status:string command:string sandbox:string? workspace:string? "
		       "created:string pid:integer"},
	{"RunList", "items:RunSummary[] next:string?"},
	{"Sandbox",
	 "id:string name:string? status:string isolation:string image:string "
	 "created:string expires:string? background:integer alerts:integer limits:object usage:object "
	 "metadata:object packages:any"},
	{"Policy",
	 "sandbox:string ports:any inspects:boolean rules:any commands:any network:any closed:integer "
	 "note:string?"},
	{"SandboxList", "items:Sandbox[] next:string?"},
	{"Process", "pid:integer parent:integer command:string state:string status:string "
		    "running:boolean exit_code:integer? signal:integer? started:string? "
		    "ended:string? output_bytes:integer background:boolean threads:integer "
		    "cpu_ms:integer memory_bytes:integer"},
	{"Input", "written:integer"},
	{"Port", "port:integer url:string"},
	{"PortList", "items:Port[] next:string?"},
	{"ProcessList", "items:Process[] next:string?"},
	{"ProcessOutput", "offset:integer next_offset:integer output:any process:Process"},
	{"File",
	 "path:string path_base64:string name:string type:string size:integer mode:string uid:integer "
	 "gid:integer modified:string? target:string?"},
	{"FileList", "items:File[] next:string?"},
	{"Written", "path:string bytes:integer"},
	{"Session", "id:string name:string lang:string sandbox:string busy:boolean"},
	{"SessionList", "items:Session[] next:string?"},
	{"Execution",
	 "id:string sandbox:string status:string execution_count:integer? "
	 "exit_code:integer? signal:integer? reason:string? alive:boolean stdout:Stream "
	 "stderr:Stream results:any alerts:any error:any usage:object files:any packages:any"},
	{"Workspace", "name:string status:string snapshot:integer created:string layers:integer "
		      "own_bytes:integer shared_bytes:integer disk_limit_bytes:integer "
		      "inode_limit:integer disk_held_by:string image:string dir:string?"},
	{"WorkspaceList", "items:Workspace[] next:string?"},
	{"Snapshot", "snapshot:integer kind:string label:string? current:boolean undone:boolean "
		     "time:string run:string? command:string? status:string? exit_status:integer? "
		     "wall_ms:number files_changed:integer bytes_changed:integer"},
	{"SnapshotList", "items:Snapshot[] next:string?"},
	{"Diff", "items:any next:string?"},
	{"Tenant", "tenant:string usage:object quotas:object over:string? again_in_s:integer?"},
	{"TenantList", "items:Tenant[] next:string?"},
	{"Approval", "id:string kind:string what:string sandbox:string? tenant:string? who:string? "
		     "why:string? asked:string until:string"},
	{"ApprovalList", "items:Approval[] next:string?"},
};

static struct value *property(const char *type, size_t n)
{
	char name[40];
	bool list = n > 2 && type[n - 1] == ']', null = type[n - 1] == '?';
	struct value *o;

	(void)snprintf(name, sizeof(name), "%.*s", (int)(n - (list ? 2 : null ? 1 : 0)), type);
	if (strcmp(name, "any") == 0)
		return value_object();
	if (name[0] >= 'A' && name[0] <= 'Z') {
		if (!list)
			return ref(name);
		o = of_type("array");
		value_set(o, "items", ref(name));
		return o;
	}
	if (!null)
		return of_type(name);
	o = value_array();
	value_add(o, value_of_str(name));
	value_add(o, value_of_str("null"));
	return object_of("type", o);
}

static struct value *shape(const char *text)
{
	struct value *o = of_type("object"), *properties = value_object();

	for (const char *p = text; *p;) {
		size_t n = strcspn(p, " "), name = strcspn(p, ":");
		char key[40];

		(void)snprintf(key, sizeof(key), "%.*s", (int)name, p);
		value_set(properties, key, property(p + name + 1, n - name - 1));
		p += n + (p[n] == ' ');
	}
	value_set(o, "properties", properties);
	return o;
}

static struct value *components(void)
{
	struct value *o = value_object(), *schemas = value_object(), *token = of_type("http");

	for (unsigned i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		value_set(schemas, shapes[i][0], shape(shapes[i][1]));
	value_set(token, "scheme", value_of_str("bearer"));
	value_set(o, "schemas", schemas);
	value_set(o, "securitySchemes", object_of("token", token));
	return o;
}

struct value *openapi_document(void)
{
	struct value *o = value_object(), *info = value_object(), *paths = value_object(),
		     *security = value_array();

	value_set(info, "title", value_of_str("Pinfold"));
	value_set(info, "version", value_of_str(pinfold_version()));
	value_set(info, "description",
		  value_of_str(
			  "Runs code where it can do no harm. On the Unix socket the caller's uid "
			  "counts, on TCP a token."));
	value_set(info, "license", object_of("name", value_of_str("Apache-2.0")));
	for (size_t i = 0; i < op_count(); i++) {
		const struct op *op = op_at(i);
		char method[16];

		if (!op->path)
			continue;
		for (size_t k = 0; k <= strlen(op->method) && k < sizeof(method); k++)
			method[k] = (char)(op->method[k] >= 'A' && op->method[k] <= 'Z'
						   ? op->method[k] + 32
						   : op->method[k]);
		if (!value_get(paths, op->path))
			value_set(paths, op->path, value_object());
		value_set(value_get(paths, op->path), method, operation(op));
	}
	value_add(security, object_of("token", value_array()));
	value_set(o, "openapi", value_of_str("3.1.0"));
	value_set(o, "info", info);
	value_set(o, "servers", value_array());
	value_set(o, "security", security);
	value_set(o, "paths", paths);
	value_set(o, "components", components());
	value_del(o, "servers");
	return o;
}
