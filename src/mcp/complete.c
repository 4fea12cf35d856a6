/* SPDX-License-Identifier: Apache-2.0 */
/* completion/complete: names of sandboxes, and paths in one, for the templates of resources. */
#include <stdlib.h>
#include <string.h>

#include "mcp/mcp_int.h"
#include "mcp/tools.h"
#include "pinfold/pinfold.h"

#define VALUES_MAX 100u
#define VISITS_MAX 20000u
#define HOME "/home/user/"

struct found {
	struct value *values;
	const char *begin;
	uint64_t total, visits;
};

static void offer(struct found *f, const char *word)
{
	if (strncmp(word, f->begin, strlen(f->begin)) != 0)
		return;
	f->total++;
	if (value_len(f->values) < VALUES_MAX)
		value_add(f->values, value_of_str(word));
}

static int offer_path(const char *path, const struct pinfold_file_info *info, void *arg)
{
	struct found *f = arg;

	(void)info;
	/* Templates have the path behind "files/", so without its first slash; both are taken, and
	 * so is one below the working directory. */
	offer(f, f->begin[0] == '/' ? path : path + 1);
	if (f->begin[0] && strncmp(path, HOME, strlen(HOME)) == 0)
		offer(f, path + strlen(HOME));
	return ++f->visits > VISITS_MAX;
}

static void offer_paths(struct call *c, struct found *f, const char *sandbox)
{
	struct err ignored = ERR_INIT;
	struct pinfold_error failure;
	struct box *b = box_find(c->api, &c->who, sandbox, &ignored);
	struct pinfold_files *files = b ? box_files(b, &ignored) : NULL;

	if (files) {
		(void)pinfold_file_list(files, "/home/user", 5, 0, offer_path, f, &failure);
		box_files_put(b, false);
	}
	box_put(c->api, b);
}

static void offer_sandboxes(struct call *c, struct found *f)
{
	struct err ignored = ERR_INIT;
	auto_value *list = boxes_list(c->api, &c->who, &ignored);

	for (size_t i = 0; i < value_len(list); i++) {
		const char *name = value_str(value_get(value_at(list, i), "name"));

		if (name)
			offer(f, name);
	}
}

static int complete(struct call *c, struct err *e)
{
	const char *which = arg_str(c, "name"), *sandbox = arg_str(c, "sandbox");
	struct found f = {.values = value_array(), .begin = arg_str(c, "value")};
	struct value *v = value_object(), *answer = value_object();

	(void)e;
	if (!strcmp(which, "sandbox"))
		offer_sandboxes(c, &f);
	else if (!strcmp(which, "path"))
		offer_paths(c, &f, sandbox ? sandbox : BOX_DEFAULT);
	else if (!strcmp(which, "stream")) {
		offer(&f, "stdout");
		offer(&f, "stderr");
	}
	value_set(answer, "hasMore", value_of_bool(f.total > value_len(f.values)));
	value_set(answer, "total", value_of_u64(f.total));
	value_set(answer, "values", f.values);
	value_set(v, "completion", answer);
	c->reply.value = v;
	return 0;
}

static const struct op complete_op = {.name = "completion", .handler = complete};

int method_complete(struct request *r, struct value **ret_result, struct rpc_error *e)
{
	const struct value *ref = value_get(r->params, "ref"),
			   *what = value_get(r->params, "argument");
	const char *type = value_str(value_get(ref, "type")),
		   *name = value_str(value_get(what, "name"));
	const struct value *given = value_get(value_get(r->params, "context"), "arguments");
	struct err failed = ERR_INIT;

	if (!type || !name || !value_str(value_get(what, "value")))
		return rpc_fail(e, RPC_PARAMS, 200,
				"ref.type, argument.name and argument.value are wanted");
	if (r->mcp->fixtures && strcmp(type, "ref/prompt") == 0) {
		*ret_result = r->mcp->fixtures->complete(r->params);
		return 0;
	}
	if (strcmp(type, "ref/resource") != 0)
		return rpc_fail(e, RPC_PARAMS, 200,
				"ref.type: ref/resource is what can be completed");
	struct value *args = value_object();
	value_set(args, "name", value_of_str(name));
	value_set(args, "value", value_copy(value_get(what, "value")));
	if (value_str(value_get(given, "sandbox")))
		value_set(args, "sandbox", value_copy(value_get(given, "sandbox")));
	if (request_call(r, &complete_op, args, &failed) < 0)
		return rpc_fail(e, RPC_INTERNAL, 200, "%s", failed.text);
	return 1;
}
