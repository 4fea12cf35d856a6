/* SPDX-License-Identifier: Apache-2.0 */
#include "api/call.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "api/api.h"
#include "api/coding.h"
#include "api/elders.h"
#include "api/event.h"
#include "api/quota.h"
#include "api/taken.h"
#include "api/worker.h"
#include "base/fd.h"
#include "base/id.h"

struct call *call_new(struct api *api, const struct op *op, const struct who *who)
{
	struct call *c = calloc(1, sizeof(*c));
	struct err e = ERR_INIT;

	if (!c)
		return NULL;
	*c = (struct call){.api = api, .op = op, .who = *who, .body = FD_NONE, .reply.fd = FD_NONE};
	c->began_ms = loop_now_ms();
	c->cancel = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->cancel < 0 || id_make("req", c->request_id, &e) < 0) {
		call_free(c);
		return NULL;
	}
	return c;
}

void call_free(struct call *c)
{
	if (!c)
		return;
	value_free(c->args);
	value_free(c->reply.value);
	free(c->reply.text);
	fd_close(&c->reply.fd);
	fd_close(&c->body);
	fd_close(&c->cancel);
	free(c);
}

static struct call *of_task(struct task *t)
{
	return (struct call *)((char *)t - offsetof(struct call, task));
}

struct caller {
	char tenant[TENANT_SIZE];
	unsigned running, waiting;
	struct call *first, **end; /* that wait */
	struct caller *next;
};

static struct caller *find_caller(struct api *api, const char *tenant)
{
	struct caller *one = api->callers;

	while (one && strcmp(one->tenant, tenant) != 0)
		one = one->next;
	if (one || !(one = calloc(1, sizeof(*one))))
		return one;
	(void)snprintf(one->tenant, sizeof(one->tenant), "%s", tenant);
	one->end = &one->first;
	one->next = api->callers;
	api->callers = one;
	return one;
}

static void forget_idle(struct api *api, struct caller *one)
{
	struct caller **at = &api->callers;

	if (one->running || one->waiting)
		return;
	while (*at != one)
		at = &(*at)->next;
	*at = one->next;
	free(one);
}

static int say_busy(struct err *e)
{
	(void)err_set(e, ERR_BUSY, "too many calls at once");
	e->retry_ms = 1000;
	return err_remedy(e, "try again in a second");
}

static void work(struct task *t);
static void over(struct task *t);

/* One of his is over: the next of those that wait. */
static void leave(struct api *api, struct caller *one)
{
	struct call *c;

	one->running--;
	while ((c = one->first) && one->running < CALLS_PER_TENANT) {
		one->first = c->next;
		if (!one->first)
			one->end = &one->first;
		one->waiting--;
		c->task.run = work;
		if (workers_run(api->workers, &c->task) == 0) {
			one->running++;
			continue;
		}
		c->result = say_busy(&c->error); /* others have all threads */
		c->caller = NULL;
		c->task.run = over;
		loop_post(api->loop, &c->task);
	}
	forget_idle(api, one);
}

static void over(struct task *t)
{
	struct call *c = of_task(t);

	if (c->caller)
		leave(c->api, c->caller);
	c->caller = NULL;
	c->done(c);
}

/* Here, and not in the loop's thread: it takes time. */
static void code_reply(struct call *c)
{
	struct reply *r = &c->reply;
	int coded = 0;

	if (r->value) {
		r->text = value_text(r->value, &r->text_len);
		value_free(take_ptr(&r->value));
		if (!r->text)
			c->result = err_set(&c->error, ERR_INTERNAL, "no memory is left");
	}
	if (r->text && coding_is_worth(r->type, r->text_len))
		coded = coding_text(c->coding, &r->text, &r->text_len);
	else if (r->fd >= 0 && coding_is_worth(r->type, r->length))
		coded = coding_file(c->coding, &r->fd, &r->offset, &r->length);
	if (coded > 0)
		r->coding = c->coding;
}

static void work(struct task *t)
{
	struct call *c = of_task(t);

	if (c->refused)
		c->result = -EINVAL;
	else
		c->result = c->counted ? 0 : event_begin(c, &c->error);
	if (c->result >= 0 && c->op->flags & OP_STARTS && !c->counted)
		c->result = quota_start(c->api->quotas, c->who.tenant, &c->error);
	if (c->result >= 0 && elders_can_start(c->api->elders, c))
		c->result = elders_start(c->api->elders, c, &c->error);
	else if (c->result >= 0)
		c->result = c->op->handler(c, &c->error);
	if (!c->counted)
		event_end(c);
	if (c->result >= 0 && c->coding != HTTP_IDENTITY)
		code_reply(c);
	c->task.run = over;
	loop_post(c->api->loop, &c->task);
}

/* 0: it runs or will. */
static int enter(struct call *c)
{
	struct caller *one = find_caller(c->api, c->who.tenant);
	int r = -EAGAIN;

	if (!one)
		return r;
	c->caller = one;
	c->task.run = work;
	if (one->running < CALLS_PER_TENANT) {
		r = workers_run(c->api->workers, &c->task);
		one->running += r == 0;
	} else if (one->waiting < CALLS_WAITING_MAX) {
		c->next = NULL;
		*one->end = c;
		one->end = &c->next;
		one->waiting++;
		r = 0;
	}
	if (r < 0)
		forget_idle(c->api, one);
	return r;
}

int call_start(struct call *c, struct err *e)
{
	int r;

	c->task.run = work;
	/* What is open to all is soon over, and says whether we live. */
	r = c->op->flags & OP_OPEN ? workers_run(c->api->workers, &c->task) : enter(c);
	if (r == 0)
		return 0;
	c->caller = NULL;
	return say_busy(e);
}

void call_cancel(struct call *c)
{
	uint64_t one = 1;

	(void)!write(c->cancel, &one, sizeof(one)); /* full: it was already */
}

bool call_cancelled(const struct call *c)
{
	struct pollfd p = {.fd = c->cancel, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

int call_cancelled_fd(const struct call *c)
{
	return c->cancel;
}

void call_stream(struct call *c, struct feed *feed)
{
	if (c->follow)
		c->follow(c, feed);
}

void call_answer(struct call *c, struct value *v)
{
	if (c->detach && !c->stream && c->early)
		c->early(c, v);
	else
		value_free(v);
}

int call_take(struct call *c, struct taken *ret, struct err *e)
{
	if (!c->take)
		return err_set(e, ERR_UNSUPPORTED, "%s needs a connection of its own", c->op->name);
	if (c->take(c, ret) < 0)
		return err_set(e, ERR_CONFLICT, "the client is gone");
	return 0;
}

void taken_done(struct taken *t)
{
	fd_close(&t->fd);
	free(t->head_bytes);
	free(t->in);
	t->head_bytes = t->in = NULL;
}

const struct value *arg(const struct call *c, const char *name)
{
	const struct value *v = value_get(c->args, name);

	return value_kind(v) == VALUE_NULL ? NULL : v;
}

const char *arg_str(const struct call *c, const char *name)
{
	return value_str(arg(c, name));
}

int64_t arg_int(const struct call *c, const char *name, int64_t standard)
{
	const struct value *v = arg(c, name);

	return v ? value_int(v) : standard;
}

bool arg_true(const struct call *c, const char *name)
{
	return value_true(arg(c, name));
}
