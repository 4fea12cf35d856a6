/* SPDX-License-Identifier: Apache-2.0 */
/* Runs: a command in a sandbox of its own, its result and its output. */
#include <pinfold/policy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/boxes.h"
#include "api/elders.h"
#include "api/handlers.h"
#include "api/kept.h"
#include "api/keeper.h"
#include "api/metrics.h"
#include "api/options.h"
#include "api/packages.h"
#include "api/quota.h"
#include "api/runs.h"
#include "base/fd.h"
#include "base/id.h"

/* Until it has ended. */
static int follow(struct call *c, struct pinfold_run *run, const struct wanted *w,
		  struct lease *lease, struct err *e)
{
	struct record *rec =
		record_begin(c, pinfold_run_id(run), w->command, pinfold_run_sandbox(run), "", e);

	if (!rec) {
		pinfold_run_free(run);
		lease_end(c->api->quotas, lease, 0);
		return -ENOMEM;
	}
	lease_sandbox(c->api->quotas, lease, rec->sandbox);
	rec->lease = lease;
	if (value_len(arg(c, "artifacts"))) {
		rec->kept = kept_new(arg(c, "artifacts"), arg_true(c, "inline"));
		if (rec->kept)
			pinfold_run_on_file(run, kept_add, rec->kept);
	}
	record_follow(c, rec, run, &w->input);
	c->is_told = true;
	c->reply.text = rec->result ? strdup(rec->result) : NULL;
	c->reply.text_len = c->reply.text ? strlen(c->reply.text) : 0;
	record_unref(c->api->runs, rec);
	return 0;
}

int op_run_create(struct call *c, struct err *e)
{
	struct pinfold_run *run = NULL;
	struct pinfold_error failure;
	struct pinfold_secrets_from secrets;
	struct lease *lease = NULL;
	struct wanted w;

	bool kept = arg(c, "name") || keeper_packages(c) || keeper_image(c);
	if (kept && value_len(arg(c, "artifacts"))) {
		(void)err_set(e, ERR_UNSUPPORTED, "artifacts: not of a run that %s",
			      arg(c, "name") ? "has a name" : "needs packages or an image");
		return err_remedy(
			e, "its files stay in a workspace: give it a name, and read them there");
	}
	if (keeper_image(c) && packages_check_image(arg_str(c, "image"), e) < 0)
		return -EINVAL;
	if (kept)
		return keeper_run(c, arg_str(c, "name"), true, e);
	int r = wanted_take(&w, c, true, e);
	keeper_give(c, &secrets, &w.o);
	w.o.tenant = c->who.tenant;
	struct quota_need need = {w.o.memory_bytes, w.o.disk_bytes, c->cancel};
	if (r >= 0)
		r = options_check_disk(&w.o, &c->who, e);
	if (r >= 0)
		r = quota_take(c->api->quotas, c->who.tenant, &need, &lease, e);
	if (r >= 0)
		r = quota_purse(c->api, c->who.tenant, &w.o, &w.o.egress_purse, e);
	if (r < 0)
		lease_end(c->api->quotas, lease, 0);
	uint64_t began_us = metrics_now_us();
	if (r >= 0 && pinfold_run_start(&w.o, &run, &failure) < 0) {
		lease_end(c->api->quotas, lease, 0);
		r = api_error(e, &failure);
	}
	if (r >= 0) {
		metrics_phase(c->api->metrics, PHASE_START, metrics_now_us() - began_us);
		r = follow(c, run, &w, lease, e);
	}
	wanted_done(&w);
	return r;
}

struct page {
	struct value *items;
	size_t limit;
	const char *after;
	bool begun, is_gone, more;     /* is_gone: the one behind which it begins */
	const struct link_run *others; /* that other processes have, newest first */
	size_t n_others;
};

static int add_to_page(struct page *p, const struct record *rec)
{
	if (!p->begun) {
		int order = strcmp(rec->id, p->after);

		/* Ids sort by age: where that one is forgotten, what is older than it comes
		 * next. */
		p->begun = order == 0 || (p->is_gone && order < 0);
		if (!p->begun || order == 0)
			return 0;
	}
	if (value_len(p->items) == p->limit) {
		p->more = true;
		return 1;
	}
	value_add(p->items, record_summary(rec));
	return 0;
}

static int add_other(struct page *p)
{
	const struct link_run *o = p->others++;
	struct record rec = {.made_ms = o->made_ms};

	p->n_others--;
	memcpy(rec.id, o->id, sizeof(rec.id));
	memcpy(rec.sandbox, o->sandbox, sizeof(rec.sandbox));
	memcpy(rec.workspace, o->workspace, sizeof(rec.workspace));
	memcpy(rec.command, o->command, sizeof(rec.command));
	memcpy(rec.status, o->status, sizeof(rec.status));
	return add_to_page(p, &rec);
}

/* Ours, and before each those of others that are newer. */
static int add_in_turn(struct record *rec, void *arg)
{
	struct page *p = arg;

	while (p->n_others && p->others->made_ms > rec->made_ms)
		if (add_other(p))
			return 1;
	return add_to_page(p, rec);
}

static int find_listed(struct record *rec, void *arg)
{
	struct page *p = arg;

	p->begun = p->begun || strcmp(rec->id, p->after) == 0;
	return p->begun;
}

static bool is_listed(struct call *c, const struct page *p)
{
	struct page sought = {.after = p->after};

	runs_each(c->api->runs, c->who.tenant, find_listed, &sought);
	for (size_t i = 0; i < p->n_others; i++)
		sought.begun = sought.begun || strcmp(p->others[i].id, p->after) == 0;
	return sought.begun;
}

int op_run_list(struct call *c, struct err *e)
{
	struct page p = {.items = value_array(),
			 .limit = (size_t)arg_int(c, "limit", 100),
			 .after = arg_str(c, "after")};
	auto_free struct link_run *others = elders_runs(c->api->elders, c->who.tenant, &p.n_others);

	if (p.after && !id_is("run", p.after)) {
		value_free(p.items);
		return err_set(e, ERR_INVALID, "after: \"%.40s\" is no id of a run", p.after);
	}
	p.others = others;
	p.begun = !p.after;
	p.is_gone = p.after && !is_listed(c, &p);
	runs_each(c->api->runs, c->who.tenant, add_in_turn, &p);
	while (p.n_others && !p.more)
		(void)add_other(&p); /* it says when the page is full by p.more */
	const char *last = value_str(value_get(value_at(p.items, value_len(p.items) - 1), "id"));
	c->reply.value = value_object();
	value_set(c->reply.value, "next", p.more ? value_of_str(last) : value_of_null());
	value_set(c->reply.value, "items", p.items);
	return 0;
}

int op_run_get(struct call *c, struct err *e)
{
	struct record *rec = record_find(c->api->runs, c->who.tenant, arg_str(c, "id"), e);

	if (!rec)
		return -ENOENT;
	c->reply.text = record_look(c->api->runs, rec, &c->reply.value);
	c->reply.text_len = c->reply.text ? strlen(c->reply.text) : 0;
	record_unref(c->api->runs, rec);
	return 0;
}

int op_run_cancel(struct call *c, struct err *e)
{
	struct record *rec = record_find(c->api->runs, c->who.tenant, arg_str(c, "id"), e);

	if (!rec)
		return -ENOENT;
	record_cancel(c->api->runs, rec);
	record_unref(c->api->runs, rec);
	return 0;
}

static int send_output(struct call *c, int stream, struct err *e)
{
	struct record *rec = record_find(c->api->runs, c->who.tenant, arg_str(c, "id"), e);

	if (!rec)
		return -ENOENT;
	c->reply.length = spool_size(&rec->output[stream], NULL);
	c->reply.fd = spool_fd(&rec->output[stream]);
	c->reply.type = "application/octet-stream";
	record_unref(c->api->runs, rec);
	return c->reply.fd < 0 ? err_set(e, ERR_INTERNAL, "the output cannot be read") : 0;
}

int op_run_stdout(struct call *c, struct err *e)
{
	return send_output(c, 0, e);
}

int op_run_stderr(struct call *c, struct err *e)
{
	return send_output(c, 1, e);
}

int op_run_file(struct call *c, struct err *e)
{
	struct record *rec = record_find(c->api->runs, c->who.tenant, arg_str(c, "id"), e);

	if (!rec)
		return -ENOENT;
	int r = 0;
	if (!__atomic_load_n(&rec->ended_at, __ATOMIC_ACQUIRE)) {
		r = err_set(e, ERR_CONFLICT, "run %s has not ended", rec->id);
	} else {
		r = kept_open(rec->kept, arg_str(c, "path"), &c->reply.offset, &c->reply.length, e);
		c->reply.fd = r < 0 ? FD_NONE : r;
		c->reply.type = "application/octet-stream";
	}
	record_unref(c->api->runs, rec);
	return r < 0 ? r : 0;
}

int op_run_events(struct call *c, struct err *e)
{
	struct record *rec = record_find(c->api->runs, c->who.tenant, arg_str(c, "id"), e);

	if (!rec)
		return -ENOENT;
	call_stream(c, rec->feed);
	record_unref(c->api->runs, rec);
	return 0;
}

/* By the keeper: the chains of workspaces are closed to us, and so is the machine's own key. */
int op_run_receipt(struct call *c, struct err *e)
{
	const char *id = arg_str(c, "id");
	struct keeper_ask a = {.words = (const char *const[]){"receipt", "--json", id, NULL}};
	size_t len = 0;

	if (!id_is("run", id)) {
		(void)err_set(e, ERR_MISSING, "there is no run %.40s", id);
		return err_remedy(e, "the list of runs has those of the last hour");
	}
	int r = keeper_ask(c, &a, &c->reply.text, &len, e);
	if (r >= 0)
		c->reply.text_len = len && c->reply.text[len - 1] == '\n' ? len - 1 : len;
	return r;
}
