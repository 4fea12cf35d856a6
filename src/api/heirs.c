/* SPDX-License-Identifier: Apache-2.0 */
#include "api/heirs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/api.h"
#include "api/boxes.h"
#include "api/conn_int.h"
#include "api/quota.h"
#include "api/repeat.h"
#include "api/runs.h"
#include "api/worker.h"
#include "base/fd.h"
#include "base/passfd.h"

#define LOOK_MS 1000u
#define ARGS_MAX (128L << 20) /* a body of 16 MiB, with all of it escaped */

struct heirs {
	struct api *api;
	struct server *server;
	struct link *links; /* to fronts, the newest first */
	bool runner, yielded, leaving;
	struct timer timer;
	struct task look; /* whether anything is left: on a thread, it asks the daemon */
	bool looking, empty;
	struct link *telling; /* heirs_key() goes there */
};

static struct heirs *of_timer(struct timer *t)
{
	return (struct heirs *)((char *)t - offsetof(struct heirs, timer));
}

static struct heirs *of_look(struct task *t)
{
	return (struct heirs *)((char *)t - offsetof(struct heirs, look));
}

static void drop_link(struct link *l)
{
	struct heirs *h = l->arg;

	for (struct link **at = &h->links; *at; at = &(*at)->next)
		if (*at == l) {
			*at = l->next;
			break;
		}
	link_free(l);
	if (h->leaving && !h->links)
		loop_stop(h->api->loop);
}

/* A call that the front was asked for. */
struct started {
	int sock;
};

static void answer(struct call *c, const struct link_started *s)
{
	struct started *st = c->transport;

	if (st->sock >= 0)
		(void)passfd_send(st->sock, s, sizeof(*s), NULL, 0); /* or the front is gone */
	fd_close(&st->sock);
}

/* The handler's thread: its run has begun. */
static void began(struct call *c, struct value *v)
{
	struct link_started *s = calloc(1, sizeof(*s));
	size_t len = 0;
	auto_free char *text = value_text(v, &len);

	if (s && text && len < sizeof(s->text)) {
		const char *sandbox = value_str(value_get(v, "sandbox"));

		memcpy(s->text, text, len);
		s->len = (uint32_t)len;
		(void)snprintf(s->sandbox, sizeof(s->sandbox), "%s", sandbox ? sandbox : "");
		answer(c, s);
	}
	free(s);
	value_free(v);
}

static void over(struct call *c)
{
	struct started *st = c->transport;
	struct link_started *s = calloc(1, sizeof(*s));

	if (s && c->result < 0) {
		s->result = c->result;
		s->error = c->error;
		answer(c, s);
	}
	free(s);
	fd_close(&st->sock);
	free(st);
	call_free(c);
}

static const struct op *find_op(const char *name)
{
	for (size_t i = 0; i < op_count(); i++)
		if (strcmp(op_at(i)->name, name) == 0)
			return op_at(i)->flags & OP_OUTLIVES ? op_at(i) : NULL;
	return NULL;
}

static struct value *read_args(int fd)
{
	struct err ignored = ERR_INIT;
	struct value *v = NULL;
	struct stat st;
	size_t len = 0;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > ARGS_MAX)
		return NULL;
	auto_free char *text = malloc((size_t)st.st_size + 1);
	if (!text || fd_read_max(fd, text, (size_t)st.st_size, &len) < 0)
		return NULL;
	return value_parse(text, len, &v, &ignored) < 0 ? NULL : v;
}

/* The front has checked it, counted it and written it down. */
static void take_start(struct heirs *h, const struct link_start *m, int fds[LINK_FDS_MAX])
{
	char name[sizeof(m->op) + 1] = "";
	struct err e = ERR_INIT;

	memcpy(name, m->op, sizeof(m->op));
	const struct op *op = find_op(name);
	struct call *c = op ? call_new(h->api, op, &m->who) : NULL;
	struct started *st = calloc(1, sizeof(*st));
	if (c)
		c->args = read_args(fds[1]);
	if (!c || !st || !c->args || op_check(op, c->args, &e) < 0) {
		free(st);
		call_free(c);
		return; /* the socket closes: the front says that it did not work */
	}
	st->sock = take_fd(&fds[0]);
	(void)snprintf(c->request_id, sizeof(c->request_id), "%.31s", m->request_id);
	c->transport = st;
	c->detach = c->counted = true;
	c->early = began;
	c->done = over;
	if (call_start(c, &c->error) < 0) {
		c->result = -EAGAIN;
		over(c);
	}
}

static void take(struct link *l, const union link_message *m, int fds[LINK_FDS_MAX])
{
	struct heirs *h = l->arg;

	if (m->kind == LINK_CONN)
		server_adopt(h->server, &m->conn, take_fd(&fds[0]));
	else if (m->kind == LINK_START && h->runner)
		take_start(h, &m->start, fds);
}

static const struct link_calls calls = {take, drop_link};

static void fill_run(struct link_run *m, const struct record *rec)
{
	*m = (struct link_run){.kind = LINK_RUN, .made_ms = rec->made_ms};
	(void)snprintf(m->id, sizeof(m->id), "%s", rec->id);
	(void)snprintf(m->tenant, sizeof(m->tenant), "%s", rec->tenant);
	(void)snprintf(m->sandbox, sizeof(m->sandbox), "%s", rec->sandbox);
	(void)snprintf(m->workspace, sizeof(m->workspace), "%s", rec->workspace);
	(void)snprintf(m->command, sizeof(m->command), "%s", rec->command);
	(void)snprintf(m->status, sizeof(m->status), "%s", rec->status);
}

static int tell_record(struct record *rec, void *arg)
{
	struct link_run m;

	fill_run(&m, rec);
	link_send(arg, &m, sizeof(m), NULL);
	return 0;
}

void heirs_key(struct heirs *h, const char *tenant, const char *key)
{
	struct link_key m = {.kind = LINK_KEY};

	(void)snprintf(m.tenant, sizeof(m.tenant), "%s", tenant);
	(void)snprintf(m.key, sizeof(m.key), "%s", key);
	for (struct link *l = h->telling ? h->telling : h->links; l;
	     l = h->telling ? NULL : l->next)
		link_send(l, &m, sizeof(m), NULL);
}

/* To one link; NULL: what is new, to all. */
static void tell_keys(struct heirs *h, struct link *l)
{
	h->telling = l;
	boxes_tell(h->api->boxes, h, l != NULL);
	if (l)
		repeats_tell(h->api->repeats, h);
	if (l && h->api->tell_more)
		h->api->tell_more(h->api->tell_more_arg, h);
	h->telling = NULL;
}

/* A message on its way to the loop's thread. */
struct run_task {
	struct task task;
	struct heirs *heirs;
	struct link_run run;
};

static void tell_run(struct task *t)
{
	struct run_task *rt = (struct run_task *)t;

	for (struct link *l = rt->heirs->links; l; l = l->next)
		link_send(l, &rt->run, sizeof(rt->run), NULL);
	free(rt);
}

void heirs_run(struct heirs *h, const struct record *rec)
{
	if (!h || !(h->runner || h->yielded))
		return;
	struct run_task *rt = calloc(1, sizeof(*rt));
	if (!rt)
		return; /* the front will not find it */
	rt->task.run = tell_run;
	rt->heirs = h;
	fill_run(&rt->run, rec);
	loop_post(h->api->loop, &rt->task);
}

void heirs_add(struct heirs *h, int fd)
{
	uint32_t synced = LINK_SYNCED;
	struct link *l = link_new(h->api->loop, fd, &calls, h);

	if (!l)
		return;
	l->next = h->links;
	h->links = l;
	runs_each(h->api->runs, NULL, tell_record, l);
	tell_keys(h, l);
	link_send(l, &synced, sizeof(synced), NULL);
}

bool heirs_pass_on(struct heirs *h, struct conn *c)
{
	if (!h || !(h->runner || h->yielded) || !h->links || h->leaving)
		return false;
	conn_hand(c, h->links);
	return true;
}

/* A thread's: it asks the daemon which sandboxes live. */
static void look(struct task *t);

static void looked(struct task *t)
{
	struct heirs *h = of_look(t);
	struct server_counts n;
	uint32_t bye = LINK_BYE;

	h->looking = false;
	server_count(h->server, &n);
	timer_set(h->api->loop, &h->timer, loop_now_ms() + LOOK_MS);
	if (!h->empty || n.connections || runs_kept(h->api->runs) || h->leaving)
		return;
	/* A request may be on its way to us: fronts close their ends, and then none is. */
	h->leaving = true;
	for (struct link *l = h->links; l; l = l->next)
		link_send(l, &bye, sizeof(bye), NULL);
	if (!h->links)
		loop_stop(h->api->loop);
}

static void look(struct task *t)
{
	struct heirs *h = of_look(t);

	/* This thread is one that works. */
	h->empty = !boxes_held(h->api->boxes) && workers_busy(h->api->workers) <= 1;
	t->run = looked;
	loop_post(h->api->loop, t);
}

static void look_again(struct timer *timer)
{
	struct heirs *h = of_timer(timer);

	if (!h->leaving)
		tell_keys(h, NULL); /* sessions that were being made when we yielded */
	h->look.run = look;
	if (!h->looking && workers_run(h->api->workers, &h->look) == 0)
		h->looking = true;
	else
		timer_set(h->api->loop, timer, loop_now_ms() + LOOK_MS);
}

void heirs_yield(struct heirs *h)
{
	if (h->yielded)
		return;
	h->yielded = true;
	server_yield(h->server);
	h->timer.fire = look_again;
	timer_set(h->api->loop, &h->timer, loop_now_ms() + LOOK_MS);
}

int heirs_new(struct api *api, struct server *s, bool runner, struct heirs **ret, struct err *e)
{
	struct heirs *h = calloc(1, sizeof(*h));

	if (!h)
		return err_sys(e, "heirs");
	*h = (struct heirs){.api = api, .server = s, .runner = runner};
	*ret = h;
	return 0;
}

void heirs_free(struct heirs *h)
{
	if (!h)
		return;
	timer_set(h->api->loop, &h->timer, 0);
	h->leaving = false;
	while (h->links)
		drop_link(h->links);
	free(h);
}
