/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandboxes that live: made and kept by the daemon, known by their id. Each function is one question
 * to it over a connection of its own.
 */
#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/run_int.h"

#define KEPT_BYTES (1u << 20) /* as the daemon does */
#define LIVE_MS 600000u	      /* how long one lives when nobody says */

int sandbox_check_id(const char *id, struct err *e)
{
	bool good = strlen(id) == SANDBOX_ID_SIZE - 1 && strncmp(id, "sbx", 3) == 0;

	if (good && id[strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789")] == '\0')
		return 0;
	(void)err_set(e, ERR_INVALID, "\"%.40s\" is not the id of a sandbox", id);
	return err_remedy(e, "pinfold ps lists them: sbx and 26 characters");
}

static int result(int r, const struct err *e, struct pinfold_error *ret_error)
{
	if (r < 0)
		error_public(e, ret_error);
	return r < 0 ? -1 : 0;
}

/* One question, one answer; *ret_fd is what came along. */
static int question(struct link_ask *ask, const struct request *req, struct pinfold_run *explain,
		    struct link_msg *ret, int *ret_fd, struct err *e)
{
	auto_close int link = FD_NONE, null = FD_NONE;
	int fds[2] = {FD_NONE, FD_NONE};
	int r = remote_open(&link, e);

	if (r >= 0 && req) {
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
		r = null < 0 ? err_sys(e, "open /dev/null") : 0;
	}
	const int stdio[3] = {null, null, null};
	if (r >= 0)
		r = remote_ask(link, ask, req, stdio, e);
	if (r >= 0)
		r = remote_next(link, explain ? explain->cancel_fd : 0, ret, fds, e);
	if (r >= 0 && ret->kind == LINK_ERROR) {
		remote_error(ret, e);
		r = -EREMOTEIO;
	} else if (r >= 0 && ret->kind == LINK_FAILED && explain) {
		r = explain_failure(explain, ret->step, ret->op, ret->code, e);
	} else if (r >= 0 && ret->kind != LINK_OK && ret->kind != LINK_ENDED) {
		r = err_set(e, ERR_INTERNAL, "the daemon gave an unexpected answer");
	}
	if (ret_fd)
		*ret_fd = take_fd(&fds[0]);
	fd_close(&fds[0]);
	fd_close(&fds[1]);
	return r < 0 ? r : 0;
}

static int about(const char *id, enum link_op op, uint64_t arg, struct pinfold_error *ret_error)
{
	struct link_ask ask = {.op = op, .arg = arg};
	struct link_msg msg;
	struct err e = ERR_INIT;
	int r = sandbox_check_id(id, &e);

	if (r >= 0) {
		(void)snprintf(ask.id, sizeof(ask.id), "%s", id);
		r = question(&ask, NULL, NULL, &msg, NULL, &e);
	}
	return result(r, &e, ret_error);
}

int pinfold_sandbox_signal(const char *id, int signo, struct pinfold_error *ret_error)
{
	return about(id, LINK_KILL, (uint64_t)signo, ret_error);
}

int pinfold_sandbox_destroy(const char *id, struct pinfold_error *ret_error)
{
	return about(id, LINK_KILL, SIGKILL, ret_error);
}

int pinfold_sandbox_pause(const char *id, struct pinfold_error *ret_error)
{
	return about(id, LINK_PAUSE, 0, ret_error);
}

int pinfold_sandbox_resume(const char *id, struct pinfold_error *ret_error)
{
	return about(id, LINK_RESUME, 0, ret_error);
}

int pinfold_sandbox_extend(const char *id, uint64_t ms, struct pinfold_error *ret_error)
{
	return about(id, LINK_EXTEND, ms, ret_error);
}

/* Options of a sandbox without a command of its own: a word stands where one would. */
static void without_command(struct pinfold_run_options *o)
{
	static const char *const nothing[] = {"-", NULL};

	o->argv = nothing;
}

/* Why the command could not be executed, where explain_failure() found words for it. */
static int take_failure(const struct pinfold_run *run, int r, struct pinfold_error *ret_error)
{
	if (r >= 0 || !run->failed)
		return r;
	*ret_error = run->error;
	return r;
}

/* The daemon has that level only; who asks for another by name is not given it silently. */
static int check_level(const struct pinfold_run_options *o, struct err *e)
{
	if (!o->isolation || strcmp(o->isolation, "strict") == 0)
		return 0;
	(void)err_set(e, ERR_UNSUPPORTED, "--isolation: a sandbox that lives is always strict");
	return err_remedy(e, "leave --isolation out, or run it without --detach");
}

int pinfold_sandbox_create(const struct pinfold_run_options *options, char ret_id[PINFOLD_ID_SIZE],
			   struct pinfold_error *ret_error)
{
	struct link_ask ask = {.op = LINK_CREATE};
	struct pinfold_run *run = run_new();
	struct pinfold_run_options o;
	struct err e = ERR_INIT;
	struct link_msg msg;

	assert(options && ret_id && ret_error);
	options_take(&o, options);
	bool idle = !o.lang && (!o.argv || !o.argv[0]);
	if (idle)
		without_command(&o);
	if (!o.time_ms)
		o.time_ms = LIVE_MS;
	int r = run ? check_level(&o, &e) : err_sys(&e, "run");
	if (r >= 0)
		r = request_init(&run->req, &o, NULL, true, &e);
	if (r >= 0) {
		run->cancel_fd = o.cancel_fd;
		run->req.spec.live = idle;
		r = question(&ask, &run->req, run, &msg, NULL, &e);
	}
	if (r >= 0)
		(void)snprintf(ret_id, PINFOLD_ID_SIZE, "%.*s", (int)sizeof(msg.ok.sandbox) - 1,
			       msg.ok.sandbox);
	r = result(r, &e, ret_error);
	if (run)
		r = take_failure(run, r, ret_error);
	pinfold_run_free(run);
	return r;
}

/* A command in it, not yet asked for. */
static int prepare(const char *id, const struct pinfold_run_options *options,
		   struct pinfold_run *run, struct err *e)
{
	struct pinfold_run_options o;

	options_take(&o, options);
	o.dir = NULL;
	int r = sandbox_check_id(id, e);
	if (r >= 0)
		r = request_init(&run->req, &o, NULL, true, e);
	if (r >= 0)
		(void)snprintf(run->req.spec.id, sizeof(run->req.spec.id), "%s", id);
	run->req.spec.driver = run->req.spec.collect = false;
	run->exec = true;
	return r;
}

int sandbox_exec(const char *id, const struct pinfold_run_options *options, bool session,
		 struct pinfold_run **ret, struct err *e)
{
	struct pinfold_run *run = run_new();
	int r = run ? prepare(id, options, run, e) : err_sys(e, "run");

	if (r >= 0) {
		run->socket = run->req.spec.session = session;
		r = remote_open(&run->link, e);
	}
	if (r >= 0)
		r = run_begin(run, e);
	if (r < 0)
		pinfold_run_free(run);
	else
		*ret = run;
	return r;
}

int pinfold_sandbox_exec(const char *id, const struct pinfold_run_options *options,
			 struct pinfold_run **ret_run, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;

	assert(ret_run && ret_error);
	return result(sandbox_exec(id, options, false, ret_run, &e), &e, ret_error);
}

int pinfold_sandbox_spawn(const char *id, const struct pinfold_run_options *options,
			  uint32_t *ret_pid, struct pinfold_error *ret_error)
{
	struct link_ask ask = {.op = LINK_EXEC, .flags = LINK_DETACH};
	struct pinfold_run *run = run_new();
	struct err e = ERR_INIT;
	struct link_msg msg;
	int r = run ? prepare(id, options, run, &e) : err_sys(&e, "run");

	if (r >= 0) {
		(void)snprintf(ask.id, sizeof(ask.id), "%s", id);
		r = question(&ask, &run->req, run, &msg, NULL, &e);
	}
	if (r >= 0)
		*ret_pid = (uint32_t)msg.ok.value;
	r = result(r, &e, ret_error);
	if (run)
		r = take_failure(run, r, ret_error);
	pinfold_run_free(run);
	return r;
}

static int follow(struct pinfold_run *run, const char *id, uint32_t pid, uint32_t flags,
		  struct err *e)
{
	struct link_ask ask = {.op = LINK_FOLLOW, .arg = pid};
	struct epoll_event ev = {.events = EPOLLIN};
	struct link_msg msg;
	int fds[2] = {FD_NONE, FD_NONE};

	ask.flags = (flags & PINFOLD_FOLLOW_STAY ? LINK_STAY : 0) |
		    (flags & PINFOLD_FOLLOW_NOW ? LINK_NOW : 0) |
		    (flags & PINFOLD_FOLLOW_INPUT ? LINK_INPUT : 0);
	(void)snprintf(ask.id, sizeof(ask.id), "%s", id);
	int r = remote_open(&run->link, e);
	if (r >= 0)
		r = remote_ask(run->link, &ask, NULL, NULL, e);
	if (r >= 0)
		r = remote_next(run->link, 0, &msg, fds, e);
	run->terminal = take_fd(&fds[0]);
	fd_close(&fds[1]);
	if (r >= 0 && msg.kind == LINK_ERROR) {
		remote_error(&msg, e);
		return -EREMOTEIO;
	}
	if (r < 0)
		return r;
	memcpy(&run->req.spec.limits, &msg.ok.limits, sizeof(run->req.spec.limits));
	request_held(&run->req, msg.ok.group, msg.ok.volume);
	if (run->terminal >= 0)
		run->input = fcntl(run->terminal, F_DUPFD_CLOEXEC, 3);
	ev.data.fd = run->link;
	run->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (run->epoll < 0 || epoll_ctl(run->epoll, EPOLL_CTL_ADD, run->link, &ev) < 0)
		return err_sys(e, "event loop");
	(void)snprintf(run->req.spec.id, sizeof(run->req.spec.id), "%s", id);
	for (int i = 0; i < 2; i++)
		capture_init(&run->capture[i], KEPT_BYTES);
	run->req.flags = flags & PINFOLD_FOLLOW_KEEP ? PINFOLD_CAPTURE : 0;
	run->follows = true;
	run->state = RUN_RUNNING;
	return 0;
}

int pinfold_sandbox_follow(const char *id, uint32_t pid, uint32_t flags,
			   struct pinfold_run **ret_run, struct pinfold_error *ret_error)
{
	struct pinfold_run *run = run_new();
	struct err e = ERR_INIT;
	int r = run ? sandbox_check_id(id, &e) : err_sys(&e, "run");

	if (r >= 0)
		r = id_make("run", run->id, &e);
	if (r >= 0)
		r = follow(run, id, pid, flags, &e);
	if (r < 0) {
		pinfold_run_free(run);
		return result(r, &e, ret_error);
	}
	*ret_run = run;
	return 0;
}

static const char *item_status(const struct link_item *item)
{
	if (!(item->flags & LINK_OVER))
		return item->flags & LINK_PAUSED ? "paused" : "running";
	switch (remote_stop(item->stop)) {
	case STOP_TIME: return "timeout";
	case STOP_MEMORY: return "oom";
	case STOP_CPU_TIME:
	case STOP_DISK:
	case STOP_CALLER: return "killed";
	case STOP_NONE: break;
	}
	if (!(item->flags & LINK_KNOWN))
		return "killed";
	return WIFEXITED(item->status) ? "exited" : "signaled";
}

static void take_item(const struct link_item *item, struct pinfold_sandbox_info *ret)
{
	bool known = (item->flags & LINK_OVER) && (item->flags & LINK_KNOWN);

	*ret = (struct pinfold_sandbox_info){
		.status = item_status(item),
		.uid = item->uid,
		.detached = (item->flags & LINK_HELD) != 0,
		.background = item->background,
		.exit_code = known && WIFEXITED(item->status) ? WEXITSTATUS(item->status) : -1,
		.signal = known && WIFSIGNALED(item->status) ? WTERMSIG(item->status) : 0,
		.created_ms = item->made_ms,
		.expires_ms = item->expires_ms,
		.ended_ms = item->ended_ms,
	};
	(void)snprintf(ret->id, sizeof(ret->id), "%.*s", (int)sizeof(item->id) - 1, item->id);
	(void)snprintf(ret->command, sizeof(ret->command), "%.*s", (int)sizeof(item->command) - 1,
		       item->command);
}

static int take_list(int fd, uint64_t n, struct pinfold_sandbox_info **ret, size_t *ret_n,
		     struct err *e)
{
	struct link_item item;

	if (fd < 0 || n > 1000000)
		return err_set(e, ERR_INTERNAL, "the daemon gave an unexpected answer");
	auto_free struct pinfold_sandbox_info *list = calloc(n + 1, sizeof(*list));
	if (!list)
		return err_sys(e, "list");
	for (uint64_t i = 0; i < n; i++) {
		if (pread(fd, &item, sizeof(item), (off_t)(i * sizeof(item))) !=
		    (ssize_t)sizeof(item))
			return err_sys(e, "list");
		take_item(&item, &list[n - 1 - i]); /* oldest first */
	}
	*ret = take_ptr(&list);
	*ret_n = n;
	return 0;
}

int pinfold_sandbox_list(struct pinfold_sandbox_info **ret_list, size_t *ret_n,
			 struct pinfold_error *ret_error)
{
	struct link_ask ask = {.op = LINK_LIST};
	struct link_msg msg;
	struct err e = ERR_INIT;
	auto_close int fd = FD_NONE;
	int r = question(&ask, NULL, NULL, &msg, &fd, &e);

	if (r >= 0)
		r = take_list(fd, msg.ok.value, ret_list, ret_n, &e);
	return result(r, &e, ret_error);
}

void pinfold_sandbox_list_free(struct pinfold_sandbox_info *list)
{
	free(list);
}
