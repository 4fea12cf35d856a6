/* SPDX-License-Identifier: Apache-2.0 */
#include "api/call.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "api/api.h"
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

static void over(struct task *t)
{
	struct call *c = of_task(t);

	c->done(c);
}

static void work(struct task *t)
{
	struct call *c = of_task(t);

	c->result = c->op->handler(c, &c->error);
	c->task.run = over;
	loop_post(c->api->loop, &c->task);
}

int call_start(struct call *c, struct err *e)
{
	c->task.run = work;
	if (workers_run(c->api->workers, &c->task) == 0)
		return 0;
	(void)err_set(e, ERR_BUSY, "too many calls at once");
	e->retry_ms = 1000;
	return err_remedy(e, "try again in a second");
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
