/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes that live. */
#include <pinfold/policy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/boxes.h"
#include "api/changed.h"
#include "api/handlers.h"
#include "api/keeper.h"
#include "api/options.h"
#include "api/packages.h"
#include "api/runs.h"
#include "base/fd.h"
#include "base/id.h"

static struct box *box_of(struct call *c, struct err *e)
{
	return box_find(c->api, &c->who, arg_str(c, "id"), e);
}

static int describe(struct call *c, struct box *b, struct err *e)
{
	c->reply.value = box_describe(c->api, b, e);
	return c->reply.value ? 0 : -EIO;
}

/* The library takes KEY=VALUE, as the environment's. */
static int take_metadata(const struct value *map, char **list, struct err *e)
{
	unsigned n = 0;

	if (value_len(map) > 14)
		return err_set(e, ERR_INVALID, "metadata: more than 14 entries");
	for (const char *key = NULL; (key = value_next_key(map, key)); n++)
		if (asprintf(&list[n], "%s=%s", key, value_str(value_get(map, key))) < 0) {
			list[n] = NULL;
			return err_sys(e, "metadata");
		}
	return 0;
}

static int open_ports(struct box *b, const struct value *list, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < value_len(list); i++)
		r = box_port_open(b, (unsigned)value_int(value_at(list, i)), e);
	return r;
}

int op_sandbox_create(struct call *c, struct err *e)
{
	char *metadata[16] = {NULL};
	auto_value *packages = NULL; /* box_describe() has them */
	struct pinfold_secrets_from secrets;
	struct box *b = NULL;
	struct wanted w;
	int r = wanted_take(&w, c, false, e);

	keeper_give(c, &secrets, &w.o);
	if (r >= 0 && value_len(arg(c, "ports")) > BOX_PORTS_MAX)
		r = err_set(e, ERR_INVALID, "ports: more than %u", BOX_PORTS_MAX);
	if (r >= 0)
		r = take_metadata(arg(c, "metadata"), metadata, e);
	if (r >= 0)
		r = packages_hold(c, &w.o, &packages, e);
	if (r >= 0)
		r = packages_path(&packages, &w, e);
	if (r >= 0) {
		w.o.metadata = (const char *const *)metadata;
		b = box_create(c->api, &c->who, arg_str(c, "name"), &w.o,
			       (uint64_t)arg_int(c, "ttl", 0), e);
		r = b ? open_ports(b, arg(c, "ports"), e) : -EIO;
	}
	if (r >= 0)
		r = describe(c, b, e);
	box_put(c->api, b);
	packages_drop(&w.o);
	for (unsigned i = 0; metadata[i]; i++)
		free(metadata[i]);
	wanted_done(&w);
	return r;
}

int op_sandbox_list(struct call *c, struct err *e)
{
	struct boxes_page page = {.metadata = arg_str(c, "metadata"),
				  .after = arg_str(c, "after"),
				  .limit = (size_t)arg_int(c, "limit", 100)};
	struct value *items = NULL;

	if (page.after && !id_is("sbx", page.after))
		return err_set(e, ERR_INVALID, "after: \"%.40s\" is no id of a sandbox",
			       page.after);
	items = boxes_some(c->api, &c->who, &page, e);
	if (!items)
		return -EIO;
	c->reply.value = value_object();
	value_set(c->reply.value, "items", items);
	value_set(c->reply.value, "next", page.next[0] ? value_of_str(page.next) : value_of_null());
	return 0;
}

int op_sandbox_get(struct call *c, struct err *e)
{
	struct box *b = box_of(c, e);
	int r = b ? describe(c, b, e) : -ENOENT;

	box_put(c->api, b);
	return r;
}

int op_sandbox_delete(struct call *c, struct err *e)
{
	struct box *b = box_of(c, e);
	int r = b ? box_destroy(c->api, b, e) : -ENOENT;

	box_put(c->api, b);
	return r;
}

static int simple(struct call *c, int (*fn)(const char *, struct pinfold_error *), struct err *e)
{
	struct pinfold_error failure;
	struct box *b = box_of(c, e);

	if (!b)
		return -ENOENT;
	int r = fn(b->id, &failure) < 0 ? api_error(e, &failure) : describe(c, b, e);
	box_put(c->api, b);
	return r;
}

int op_sandbox_pause(struct call *c, struct err *e)
{
	return simple(c, pinfold_sandbox_pause, e);
}

int op_sandbox_resume(struct call *c, struct err *e)
{
	return simple(c, pinfold_sandbox_resume, e);
}

int op_sandbox_extend(struct call *c, struct err *e)
{
	struct pinfold_error failure;
	struct box *b = box_of(c, e);

	if (!b)
		return -ENOENT;
	box_timed(b, (uint64_t)arg_int(c, "ttl", 0));
	int r = pinfold_sandbox_extend(b->id, (uint64_t)arg_int(c, "ttl", 0), &failure) < 0
			? api_error(e, &failure)
			: describe(c, b, e);
	box_put(c->api, b);
	return r;
}

static bool wants_pty(const struct call *c)
{
	const struct value *pty = arg(c, "pty");

	return value_kind(pty) == VALUE_OBJECT || value_true(pty);
}

/* Unless told otherwise somebody may want to write there, if he has not said all of it. */
static bool keeps_stdin(const struct call *c)
{
	return arg(c, "keep_stdin") ? arg_true(c, "keep_stdin") : !arg(c, "stdin");
}

/* What it is to read first. One that does not read is not waited for long. */
static void feed(struct call *c, const struct box *b, uint32_t pid, const struct run_input *in)
{
	struct pinfold_error failure = {0};
	size_t written = 0;

	if (arg(c, "stdin") &&
	    pinfold_process_write(b->id, pid, in->data ? in->data : "", in->len, !keeps_stdin(c),
				  &written, &failure) < 0 &&
	    written < in->len)
		value_set(c->reply.value, "stdin_written", value_of_u64(written));
}

static int start_background(struct call *c, struct box *b, struct wanted *w, struct err *e)
{
	struct pinfold_error failure;
	const struct value *pty = arg(c, "pty");
	uint32_t pid = 0;

	if (!wants_pty(c) && (keeps_stdin(c) || arg(c, "stdin")))
		w->o.flags = (w->o.flags & ~PINFOLD_NO_STDIN) | PINFOLD_SPAWN_STDIN;
	if (wants_pty(c))
		w->o.flags |= PINFOLD_PTY;
	w->o.rows = (unsigned short)value_int(value_get(pty, "rows")); /* 0: the usual */
	w->o.cols = (unsigned short)value_int(value_get(pty, "cols"));
	if (pinfold_sandbox_spawn(b->id, &w->o, &pid, &failure) < 0)
		return api_error(e, &failure);
	c->reply.value = value_object();
	c->reply.status = 202;
	value_set(c->reply.value, "sandbox", value_of_str(b->id));
	value_set(c->reply.value, "pid", value_of_u64(pid));
	feed(c, b, pid, &w->input);
	return 0;
}

static int wait_for_exec(struct call *c, struct box *b, struct wanted *w, struct err *e)
{
	struct pinfold_run *run = NULL;
	struct pinfold_error failure;

	w->o.packages_json = b->packages;
	if (pinfold_sandbox_exec(b->id, &w->o, &run, &failure) < 0)
		return api_error(e, &failure);
	struct record *rec = record_begin(c, pinfold_run_id(run), w->command, b->id, "", e);
	if (!rec) {
		pinfold_run_free(run);
		return -ENOMEM;
	}
	rec->box = b;
	record_follow(c, rec, run, &w->input);
	c->is_told = true;
	c->reply.text = rec->result ? strdup(rec->result) : NULL;
	c->reply.text_len = c->reply.text ? strlen(c->reply.text) : 0;
	record_unref(c->api->runs, rec);
	return 0;
}

int op_sandbox_exec(struct call *c, struct err *e)
{
	struct box *b = box_of(c, e);
	struct wanted w;

	if (!b)
		return -ENOENT;
	int r = wanted_take(&w, c, true, e);
	if (r >= 0 && arg_true(c, "background"))
		r = start_background(c, b, &w, e);
	else if (r >= 0 && (wants_pty(c) || arg_true(c, "keep_stdin")))
		r = err_set(e, ERR_INVALID, "%s: only with background",
			    wants_pty(c) ? "pty" : "keep_stdin");
	else if (r >= 0)
		r = wait_for_exec(c, b, &w, e);
	changed_now(b); /* it may have */
	wanted_done(&w);
	box_put(c->api, b);
	return r;
}
