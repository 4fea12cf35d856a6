/* SPDX-License-Identifier: Apache-2.0 */
/* Runs: a command in a sandbox of its own, its result and its output. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/boxes.h"
#include "api/handlers.h"
#include "api/keeper.h"
#include "api/metrics.h"
#include "api/options.h"
#include "api/quota.h"
#include "api/runs.h"
#include "base/fd.h"

/* Until it has ended. */
static int follow(struct call *c, struct pinfold_run *run, const struct wanted *w,
		  struct lease *lease, struct err *e)
{
	struct record *rec =
		record_begin(c, pinfold_run_id(run), w->command, pinfold_run_sandbox(run), e);

	if (!rec) {
		pinfold_run_free(run);
		lease_end(c->api->quotas, lease, 0);
		return -ENOMEM;
	}
	lease_sandbox(c->api->quotas, lease, rec->sandbox);
	rec->lease = lease;
	record_follow(c, rec, run, &w->input);
	c->reply.text = rec->result ? strdup(rec->result) : NULL;
	c->reply.text_len = c->reply.text ? strlen(c->reply.text) : 0;
	record_unref(c->api->runs, rec);
	return 0;
}

int op_run_create(struct call *c, struct err *e)
{
	struct pinfold_run *run = NULL;
	struct pinfold_error failure;
	struct lease *lease = NULL;
	struct wanted w;

	if (arg(c, "name"))
		return keeper_run(c, arg_str(c, "name"), true, e);
	int r = wanted_take(&w, c, true, e);
	if (c->api->approvals >= 0)
		w.o.approvals = c->api->approvals;
	w.o.tenant = c->who.tenant;
	struct quota_need need = {w.o.memory_bytes, w.o.disk_bytes, c->cancel};
	if (r >= 0)
		r = quota_take(c->api->quotas, c->who.tenant, &need, &lease, e);
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
	bool begun, more;
};

static int add_to_page(struct record *rec, void *arg)
{
	struct page *p = arg;

	if (!p->begun) {
		p->begun = strcmp(rec->id, p->after) == 0;
		return 0;
	}
	if (value_len(p->items) == p->limit) {
		p->more = true;
		return 1;
	}
	value_add(p->items, record_summary(rec));
	return 0;
}

int op_run_list(struct call *c, struct err *e)
{
	struct page p = {.items = value_array(),
			 .limit = (size_t)arg_int(c, "limit", 100),
			 .after = arg_str(c, "after")};

	(void)e;
	p.begun = !p.after;
	runs_each(c->api->runs, c->who.tenant, add_to_page, &p);
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

int op_run_events(struct call *c, struct err *e)
{
	struct record *rec = record_find(c->api->runs, c->who.tenant, arg_str(c, "id"), e);

	if (!rec)
		return -ENOENT;
	call_stream(c, rec->feed);
	record_unref(c->api->runs, rec);
	return 0;
}
