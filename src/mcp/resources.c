/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resources: files of sandboxes and whole outputs of runs, by URI.
 *
 *	pinfold://sandbox/{sandbox}/files/{+path}
 *	pinfold://sandbox/{sandbox}/runs/{run}/{stream}
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/runs.h"
#include "base/fd.h"
#include "base/utf8.h"
#include "mcp/file.h"
#include "mcp/mcp_int.h"
#include "mcp/tools.h"
#include "pinfold/pinfold.h"

#define PAGE 50u
#define READ_MAX (8u << 20)
#define URI "pinfold://sandbox/"
#define OUT "/home/user/out"

static void add_template(struct value *list, const char *uri, const char *name, const char *what)
{
	struct value *v = value_object();

	value_set(v, "uriTemplate", value_of_str(uri));
	value_set(v, "name", value_of_str(name));
	value_set(v, "description", value_of_str(what));
	value_add(list, v);
}

int method_resources_templates(struct request *r, struct value **ret_result, struct rpc_error *e)
{
	struct value *v, *list;

	if (value_get(r->params, "cursor"))
		return rpc_fail(e, RPC_PARAMS, 200,
				"cursor: this list has one page, ask without a cursor");
	v = value_object();
	list = value_array();
	add_template(list, URI "{sandbox}/files/{+path}", "file", "A file of a sandbox");
	add_template(list, URI "{sandbox}/runs/{run}/{stream}", "output",
		     "All that a run printed: stream is stdout or stderr");
	if (r->mcp->fixtures)
		r->mcp->fixtures->templates(list);
	value_set(v, "resourceTemplates", list);
	*ret_result = v;
	return 0;
}

static int hex(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* Percent escapes of a part of a URI; -1 when they are none or have a NUL. */
static int decode(const char *from, size_t len, char *ret, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		int c = (unsigned char)from[i];

		if (c == '%') {
			if (i + 2 >= len || hex(from[i + 1]) < 0 || hex(from[i + 2]) < 0)
				return -1;
			c = hex(from[i + 1]) << 4 | hex(from[i + 2]);
			i += 2;
		}
		if (!c || n + 1 >= size)
			return -1;
		ret[n++] = (char)c;
	}
	ret[n] = '\0';
	return 0;
}

static void encode(struct text *t, const char *path)
{
	for (; *path; path++) {
		unsigned char c = (unsigned char)*path;
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || strchr("/-._~", c);

		if (plain)
			text_add(t, path, 1);
		else
			text_fmt(t, "%%%02X", c);
	}
}

static const char *mime_of(const char *path, bool text)
{
	static const struct {
		const char *end, *mime;
	} kinds[] = {{".png", "image/png"},	    {".jpg", "image/jpeg"},
		     {".jpeg", "image/jpeg"},	    {".svg", "image/svg+xml"},
		     {".json", "application/json"}, {".csv", "text/csv"},
		     {".html", "text/html"},	    {".md", "text/markdown"},
		     {".pdf", "application/pdf"}};
	size_t n = strlen(path);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (n > strlen(kinds[i].end) &&
		    !strcmp(path + n - strlen(kinds[i].end), kinds[i].end))
			return kinds[i].mime;
	return text ? "text/plain" : "application/octet-stream";
}

/* All files below /home/user/out of live sandboxes, one page of them. */
struct listing {
	struct value *list;
	const char *sandbox;
	uint64_t skip, seen;
	bool more;
};

struct value *resource_of(const char *sandbox, const char *path, const char *name, uint64_t size)
{
	struct value *v = value_object();
	auto_text uri = TEXT_INIT;

	text_fmt(&uri, URI "%s/files", sandbox);
	encode(&uri, path);
	value_set(v, "uri", value_of_str(uri.data));
	value_set(v, "name", value_of_str(name));
	value_set(v, "description", value_of_str("Made by a program in the sandbox"));
	value_set(v, "mimeType", value_of_str(mime_of(path, true)));
	value_set(v, "size", value_of_u64(size));
	return v;
}

static int add_resource(const char *path, const struct pinfold_file_info *info, void *arg)
{
	struct listing *l = arg;

	if (strcmp(info->type, "file") != 0 || l->seen++ < l->skip)
		return 0;
	if (value_len(l->list) >= PAGE) {
		l->more = true;
		l->seen--;
		return 1;
	}
	value_add(l->list, resource_of(l->sandbox, path, path + strlen(OUT) + 1, info->size));
	return 0;
}

static void list_box(struct call *c, struct listing *l, const char *id)
{
	struct err ignored = ERR_INIT;
	struct pinfold_error failure;
	struct box *b = box_find(c->api, &c->who, id, &ignored);
	struct pinfold_files *files = b ? box_files(b, &ignored) : NULL;

	if (files) {
		l->sandbox = box_label(b);
		/* Where there is no such directory there is nothing to list. */
		(void)pinfold_file_list(files, OUT, 8, 0, add_resource, l, &failure);
		box_files_put(b, false);
	}
	box_put(c->api, b);
}

static int list_resources(struct call *c, struct err *e)
{
	struct request *r = c->transport;
	struct listing l = {.list = value_array(), .skip = (uint64_t)arg_int(c, "skip", 0)};
	auto_value *boxes = boxes_list(c->api, &c->who, e);
	struct value *v;
	char next[40];

	for (size_t i = 0; i < value_len(boxes) && !l.more; i++)
		list_box(c, &l, value_str(value_get(value_at(boxes, i), "id")));
	if (r->mcp->fixtures)
		r->mcp->fixtures->resources(l.list);
	v = value_object();
	(void)snprintf(next, sizeof(next), "n%llu", (unsigned long long)l.seen);
	if (l.more)
		value_set(v, "nextCursor", value_of_str(next));
	value_set(v, "resources", l.list);
	c->reply.value = v;
	return boxes || r->mcp->fixtures ? 0 : -EIO;
}

static const struct op list_op = {.name = "resources.list", .handler = list_resources};

int method_resources_list(struct request *r, struct value **ret_result, struct rpc_error *e)
{
	const struct value *cursor = value_get(r->params, "cursor");
	struct value *args;
	struct err failed = ERR_INIT;
	unsigned long long skip = 0;
	char rest = 0;

	(void)ret_result;
	if (cursor &&
	    (!value_str(cursor) ||
	     (value_len(cursor) && sscanf(value_str(cursor), "n%llu%c", &skip, &rest) != 1)))
		return rpc_fail(e, RPC_PARAMS, 200, "cursor: not one of this list");
	args = value_object();
	value_set(args, "skip", value_of_u64(skip));
	if (request_call(r, &list_op, args, &failed) < 0)
		return rpc_fail(e, RPC_INTERNAL, 200, "%s", failed.text);
	return 1;
}

static struct value *contents(const char *uri, const char *path, const char *data, size_t len)
{
	struct value *v = value_object(), *list = value_array(), *one = value_object();
	bool text = utf8_valid(data, len) && !memchr(data, '\0', len);

	value_set(one, "uri", value_of_str(uri));
	value_set(one, "mimeType", value_of_str(mime_of(path, text)));
	value_set(one, text ? "text" : "blob",
		  text ? value_of_bytes(data, len) : value_of_base64(data, len));
	value_add(list, one);
	value_set(v, "contents", list);
	return v;
}

static int read_run(struct call *c, struct box *b, const char *uri, const char *path, struct err *e)
{
	int stream = 0;
	struct record *rec = run_of_path(c, b, path, &stream, e);
	size_t n = 0, got = 1;

	if (!rec)
		return -ENOENT;
	auto_free char *data = malloc(READ_MAX);
	while (data && n < READ_MAX && got) {
		got = spool_read(&rec->output[stream], n, data + n, READ_MAX - n);
		n += got;
	}
	record_unref(c->api->runs, rec);
	if (!data)
		return err_sys(e, "output");
	c->reply.value = contents(uri, "output.txt", data, n);
	return 0;
}

/* `rest`: "files/..." or "runs/...". */
static int read_rest(struct call *c, struct box *b, const char *uri, const char *rest,
		     struct err *e)
{
	char path[4096];
	auto_free char *data = NULL;
	size_t len = 0;

	if (strncmp(rest, "runs/", 5) == 0) {
		(void)snprintf(path, sizeof(path), "/.pinfold/%.200s", rest);
		return read_run(c, b, uri, path, e);
	}
	if (strncmp(rest, "files/", 6) != 0 ||
	    tool_path(rest + (is_below_root(rest + 6) ? 5 : 6), path, e) < 0)
		return err_set(e, ERR_MISSING, "no such resource");
	if (file_load(b, path, READ_MAX, &data, &len, e) < 0)
		return -EIO;
	c->reply.value = contents(uri, path, data, len);
	return 0;
}

static int not_found(struct call *c, const char *uri, const char *why)
{
	struct request *r = c->transport;

	r->fault.data = value_object();
	value_set(r->fault.data, "uri", value_of_str(uri));
	return rpc_fail(&r->fault, r->modern ? RPC_PARAMS : RPC_NO_RESOURCE, 200,
			"Resource not found: %.200s (%s)", uri, why);
}

static int read_resource(struct call *c, struct err *e)
{
	struct request *r = c->transport;
	const char *uri = arg_str(c, "uri");
	char plain[4300], *rest;

	if (r->mcp->fixtures && r->mcp->fixtures->read(r, uri, &c->reply.value))
		return 0;
	if (strncmp(uri, URI, strlen(URI)) != 0 ||
	    decode(uri + strlen(URI), strlen(uri) - strlen(URI), plain, sizeof(plain)) < 0 ||
	    !(rest = strchr(plain, '/')))
		return not_found(c, uri, "no such URI");
	*rest++ = '\0';
	struct box *b = box_find(c->api, &c->who, plain, e);
	if (!b)
		return not_found(c, uri, e->text);
	int n = read_rest(c, b, uri, rest, e);
	box_put(c->api, b);
	return n < 0 ? not_found(c, uri, e->text) : 0;
}

static const struct op read_op = {.name = "resources.read", .handler = read_resource};

int method_resources_read(struct request *r, struct value **ret_result, struct rpc_error *e)
{
	const struct value *uri = value_get(r->params, "uri");
	struct value *args;
	struct err failed = ERR_INIT;

	(void)ret_result;
	if (!value_str(uri) || strlen(value_str(uri)) != value_len(uri))
		return rpc_fail(e, RPC_PARAMS, 200, "uri: a string is wanted");
	args = value_object();
	value_set(args, "uri", value_copy(uri));
	if (request_call(r, &read_op, args, &failed) < 0)
		return rpc_fail(e, RPC_INTERNAL, 200, "%s", failed.text);
	return 1;
}
