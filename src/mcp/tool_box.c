/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes: made, looked at, ended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/keeper.h"
#include "api/packages.h"
#include "api/snapshots.h"
#include "base/fd.h"
#include "mcp/mcp_int.h"
#include "mcp/names.h"
#include "mcp/pending.h"
#include "mcp/tools.h"
#include "pinfold/approval.h"
#include "pinfold/policy.h"

static void add_processes(struct call *c, const struct box *b, struct value *to)
{
	struct pinfold_process_state *list = NULL;
	struct pinfold_error ignored;
	struct value *all = value_array();
	size_t n = 0;

	if (pinfold_process_list(b->id, &list, &n, &ignored) == 0) {
		for (size_t i = 0; i < n; i++) {
			struct value *v = value_object();
			unsigned number = names_of_process(tool_mcp(c)->names, b->id, list[i].pid);
			char name[16];

			(void)snprintf(name, sizeof(name), "p%u", number);
			value_set(v, "process_id", value_of_str(name));
			value_set(v, "command", value_of_str(list[i].command));
			value_set(v, "status",
				  value_of_str(list[i].running ? "running" : list[i].status));
			value_set(v, "exit_code",
				  list[i].exit_code < 0 ? value_of_null()
							: value_of_int(list[i].exit_code));
			value_add(all, v);
		}
		pinfold_process_list_free(list);
	}
	value_set(to, "processes", all);
}

static void add_ports(const struct call *c, struct box *b, struct value *to)
{
	struct value *all = value_array();

	(void)pthread_mutex_lock(&b->lock);
	for (unsigned i = 0; i < BOX_PORTS_MAX && c->api->server; i++)
		if (b->ports[i])
			value_add(all, port_describe(b, b->ports[i]));
	(void)pthread_mutex_unlock(&b->lock);
	value_set(to, "ports", all);
}

/* Questions that wait for a person's word. */
static void add_approvals(struct call *c, const struct box *b, struct value *to)
{
	auto_free struct pinfold_approval_info *list = NULL;
	struct pinfold_error ignored;
	struct value *all = value_array();
	int box = pendings_box(tool_mcp(c)->pendings);
	size_t n = 0;

	if (box >= 0 && pinfold_approval_list(box, &list, &n, &ignored) < 0)
		n = 0;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(list[i].tenant, c->who.tenant) != 0 ||
		    (strcmp(list[i].sandbox, b->id) != 0 &&
		     strcmp(list[i].sandbox, box_label(b)) != 0))
			continue;
		struct value *v = value_object();
		value_set(v, "id", value_of_str(list[i].id));
		value_set(v, "kind", value_of_str(list[i].kind));
		value_set(v, "what", value_of_str(list[i].what));
		value_set(v, "until", value_of_instant(list[i].until_ms));
		value_add(all, v);
	}
	value_set(to, "pending_approvals", all);
}

static int describe(struct call *c, struct box *b, struct value **ret, struct err *e)
{
	struct value *v = box_describe(c->api, b, e);

	if (!v)
		return -EIO;
	value_set(v, "sandbox", value_of_str(box_label(b)));
	value_del(v, "name");
	value_del(v, "metadata");
	value_del(v, "background");
	access_describe(b, v);
	value_set(v, "workdir", value_of_str("/home/user"));
	add_processes(c, b, v);
	add_ports(c, b, v);
	add_approvals(c, b, v);
	*ret = v;
	return 0;
}

static struct box *make(struct call *c, const char *name, const struct pinfold_run_options *o,
			struct err *e)
{
	const char *from = arg_str(c, "from_snapshot");
	struct box *b =
		box_create(c->api, &c->who, name, o, (uint64_t)arg_int(c, "ttl_s", 0) * 1000, e);

	if (b)
		b->is_open = o->flags & PINFOLD_OPEN_POLICY;
	if (!b || !from || snapshot_give(c, b, from, e) >= 0)
		return b;
	(void)box_destroy(c->api, b,
			  &(struct err)ERR_INIT); /* half of the files are worse than none */
	box_put(c->api, b);
	return NULL;
}

static int take_names(const struct value *list, const char ***ret, struct err *e)
{
	*ret = calloc(value_len(list) + 1, sizeof(**ret));
	if (!*ret)
		return err_sys(e, "packages");
	for (size_t i = 0; i < value_len(list); i++)
		(*ret)[i] = value_str(value_at(list, i));
	return 0;
}

int tool_create(struct call *c, struct err *e)
{
	struct pinfold_run_options o = PINFOLD_RUN_OPTIONS_INIT;
	struct pinfold_secrets_from secrets;
	const char *name = arg_str(c, "sandbox"), *from = arg_str(c, "from_snapshot");
	auto_free const char **domains = NULL, **packages = NULL, **apt = NULL;
	auto_value *had = NULL;
	struct value *v = NULL;

	name = name ? name : BOX_DEFAULT;
	int r = box_check_name("sandbox", name, e);
	if (r >= 0 && from)
		r = snapshot_check(c, from, e);
	if (r >= 0)
		r = access_of_new(c, name, &o, &domains, e);
	if (r != 0)
		return r < 0 ? r : 0; /* asked; the call comes again */
	r = take_names(arg(c, "packages"), &packages, e);
	if (r >= 0)
		r = take_names(arg(c, "apt"), &apt, e);
	o.packages = packages;
	o.apt = apt;
	o.image = arg_str(c, "image");
	if (r >= 0)
		r = packages_hold(c, &o, &had, e);
	if (r < 0)
		return r;
	keeper_give(c, &secrets, &o);
	o.limits = tool_mcp(c)->options.limits;
	o.cpus_milli = (uint64_t)arg_int(c, "cpus", 0);
	o.memory_bytes = (uint64_t)arg_int(c, "memory_mb", 0) << 20;
	o.cancel_fd = call_cancelled_fd(c);
	struct box *b = make(c, name, &o, e);
	packages_drop(&o);
	r = b ? describe(c, b, &v, e) : -EIO;
	if (r >= 0)
		r = tool_reply_json(c, v, e);
	box_put(c->api, b);
	return r;
}

static int status_of_all(struct call *c, struct err *e)
{
	struct value *list = boxes_list(c->api, &c->who, e), *all = value_array();
	struct value *v = value_object();

	for (size_t i = 0; i < value_len(list); i++) {
		const char *id = value_str(value_get(value_at(list, i), "id"));
		struct err gone = ERR_INIT;
		struct box *b = box_find(c->api, &c->who, id, &gone);
		struct value *one = NULL;

		if (b && describe(c, b, &one, &gone) >= 0)
			value_add(all, one);
		box_put(c->api, b);
	}
	if (!list) {
		value_free(all);
		value_free(v);
		return -EIO;
	}
	value_free(list);
	value_set(v, "sandboxes", all);
	return tool_reply_json(c, v, e);
}

int tool_status(struct call *c, struct err *e)
{
	const char *name = arg_str(c, "sandbox");
	struct value *v = NULL;

	if (!name)
		return status_of_all(c, e);
	struct box *b = box_find(c->api, &c->who, name, e);
	if (!b)
		return -ENOENT;
	int r = describe(c, b, &v, e);
	if (r >= 0)
		r = tool_reply_json(c, v, e);
	box_put(c->api, b);
	return r;
}

int tool_destroy(struct call *c, struct err *e)
{
	const char *keep = arg_str(c, "keep_snapshot");
	struct box *b = box_find(c->api, &c->who, arg_str(c, "sandbox"), e);
	uint64_t bytes = 0;

	if (!b)
		return -ENOENT;
	if (keep && snapshot_take(c, b, keep, &bytes, e) < 0) {
		box_put(c->api, b); /* which goes on */
		return -EIO;
	}
	struct value *v = value_object();
	if (keep) {
		value_set(v, "snapshot", value_of_str(keep));
		value_set(v, "snapshot_bytes", value_of_u64(bytes));
	}
	value_set(v, "sandbox", value_of_str(box_label(b)));
	value_set(v, "id", value_of_str(b->id));
	value_set(v, "destroyed", value_of_bool(true));
	int r = box_destroy(c->api, b, e);
	names_forget(tool_mcp(c)->names, b->id);
	box_put(c->api, b);
	if (r < 0)
		value_free(v);
	return r < 0 ? r : tool_reply_json(c, v, e);
}
