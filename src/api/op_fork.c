/* SPDX-License-Identifier: Apache-2.0 */
/* Another sandbox with the files of one: tar in the first, tar in the second, bytes in between. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/boxes.h"
#include "api/handlers.h"
#include "api/options.h"
#include "api/packages.h"
#include "base/fd.h"
#include "pinfold/pinfold.h"

#define COPY_MS (10u * 60 * 1000)

struct copy {
	struct call *call;
	struct pinfold_run *from, *to;
	char *held; /* what was read and not yet written */
	size_t at, len, room;
	bool from_over, to_over;
};

int box_tar(struct call *c, struct box *b, bool extract, struct pinfold_run **ret, struct err *e)
{
	static const char *const pack[] = {"tar", "-C", "/home/user", "-cf", "-", ".", NULL};
	static const char *const unpack[] = {"tar", "-C", "/home/user", "-xpf", "-", NULL};
	struct pinfold_run_options o = PINFOLD_RUN_OPTIONS_INIT;
	struct pinfold_error failure;

	o.argv = extract ? unpack : pack;
	o.time_ms = COPY_MS;
	o.flags = c->api->run_flags | (extract ? 0 : PINFOLD_NO_STDIN);
	return pinfold_sandbox_exec(b->id, &o, ret, &failure) < 0 ? api_error(e, &failure) : 0;
}

/* As much as the second takes now; nothing when it has ended: its status says why. */
static void push(struct copy *x)
{
	int fd = pinfold_run_stdin_fd(x->to);

	if (fd < 0)
		x->at = x->len;
	while (fd >= 0 && x->at < x->len) {
		ssize_t n = write(fd, x->held + x->at, x->len - x->at);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			x->at = x->len;
			break;
		}
		x->at += (size_t)n;
	}
	if (x->from_over && x->at == x->len && fd >= 0)
		pinfold_run_stdin_close(x->to);
}

static int hold(struct copy *x, const struct pinfold_event *ev, struct err *e)
{
	if (ev->len > x->room) {
		char *more = realloc(x->held, ev->len);

		if (!more)
			return err_sys(e, "copy");
		x->held = more;
		x->room = ev->len;
	}
	memcpy(x->held, ev->data, ev->len);
	x->at = 0;
	x->len = ev->len;
	return 0;
}

static int pull(struct copy *x, struct err *e)
{
	struct pinfold_event ev;
	int r = 0;

	while (r >= 0 && !x->from_over && x->at == x->len &&
	       pinfold_run_next(x->from, 0, &ev) > 0) {
		if (ev.kind == PINFOLD_EVENT_RESULT)
			x->from_over = true;
		else if (ev.kind == PINFOLD_EVENT_STDOUT)
			r = hold(x, &ev, e);
	}
	return r;
}

static void see_end(struct copy *x)
{
	struct pinfold_event ev;

	while (!x->to_over && pinfold_run_next(x->to, 0, &ev) > 0)
		x->to_over = ev.kind == PINFOLD_EVENT_RESULT;
}

static bool is_whole(const struct copy *x)
{
	return pinfold_run_exit_status(x->from) == 0 && pinfold_run_exit_status(x->to) == 0;
}

/* The second may be done first: an archive says where it ends. */
static bool is_over(const struct copy *x)
{
	return x->to_over && (x->from_over || pinfold_run_exit_status(x->to) != 0);
}

static int copy_files(struct copy *x, struct err *e)
{
	while (!is_over(x)) {
		if (pull(x, e) < 0)
			return -ENOMEM;
		push(x);
		see_end(x);
		bool full = x->at < x->len;
		struct pollfd p[4] = {
			{.fd = x->from_over || full ? -1 : pinfold_run_fd(x->from),
			 .events = POLLIN},
			{.fd = x->to_over ? -1 : pinfold_run_fd(x->to), .events = POLLIN},
			{.fd = full ? pinfold_run_stdin_fd(x->to) : -1, .events = POLLOUT},
			{.fd = call_cancelled_fd(x->call), .events = POLLIN}};
		if (!is_over(x))
			(void)poll(p, 4, -1); /* both have a time limit, which wakes us */
		if (p[3].revents)
			return err_set(e, ERR_INTERNAL, "nobody waits for it any more");
	}
	if (is_whole(x))
		return 0;
	(void)err_set(e, ERR_LIMIT, "the files could not be copied");
	return err_remedy(e, "they may need more disk than the new sandbox has");
}

static int fill(struct call *c, struct box *from, struct box *to, struct err *e)
{
	struct copy *x = calloc(1, sizeof(*x));
	int r = x ? 0 : err_sys(e, "copy");

	if (x)
		x->call = c;
	if (r >= 0)
		r = box_tar(c, from, false, &x->from, e);
	if (r >= 0)
		r = box_tar(c, to, true, &x->to, e);
	if (r >= 0)
		r = copy_files(x, e);
	if (x && x->from)
		pinfold_run_free(x->from);
	if (x && x->to)
		pinfold_run_free(x->to);
	if (x)
		free(x->held);
	free(x);
	return r;
}

/* The same limits, image and user. */
static void be_like(const struct pinfold_sandbox_info *info, struct pinfold_run_options *o)
{
	const char *image = sandbox_image(info);

	o->memory_bytes = info->memory_limit;
	o->pids = info->pids_limit;
	o->disk_bytes = info->disk_limit;
	o->cpus_milli = info->cpus_milli;
	o->nofile = info->nofile;
	o->limits = "best-effort"; /* what holds them here held those of the first */
	o->image = *image ? image : NULL;
	o->user = sandbox_is_root(info) ? "root" : NULL;
}

/* An empty one that is like another. */
static struct box *make_twin(struct call *c, const struct box *from, struct err *e)
{
	auto_free struct pinfold_sandbox_info *info = malloc(sizeof(*info));
	struct wanted w = {.o = PINFOLD_RUN_OPTIONS_INIT, .env = calloc(2, sizeof(*w.env))};
	auto_value *image = NULL;
	struct pinfold_error failure;
	struct box *to = NULL;
	int r = info && w.env ? 0 : err_sys(e, "sandbox");

	if (r >= 0 && pinfold_sandbox_get(from->id, info, &failure) < 0)
		r = api_error(e, &failure);
	if (r >= 0) {
		be_like(info, &w.o);
		w.o.env = (const char *const *)w.env;
		r = packages_hold(c, &w.o, &image, e);
	}
	if (r >= 0 && packages_path(&image, &w, e) >= 0)
		to = box_create(c->api, &c->who, arg_str(c, "name"), &w.o,
				(uint64_t)arg_int(c, "ttl", 0), e);
	packages_drop(&w.o);
	wanted_done(&w);
	return to;
}

int op_sandbox_fork(struct call *c, struct err *e)
{
	struct box *from = box_find(c->api, &c->who, arg_str(c, "id"), e);
	struct err ignored = ERR_INIT;

	if (!from)
		return -ENOENT;
	struct box *to = make_twin(c, from, e);
	int r = to ? fill(c, from, to, e) : -EIO;
	if (r >= 0) {
		c->reply.value = box_describe(c->api, to, e);
		r = c->reply.value ? 0 : -EIO;
	} else if (to) {
		(void)box_destroy(c->api, to, &ignored);
	}
	box_put(c->api, to);
	box_put(c->api, from);
	return r;
}
