/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run that is not ours: its command is the daemon's, which sends us what it prints. The handle
 * has the same events as any other; stopping it means to hang up, and the command goes on.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "engine/run_int.h"

#define KEPT_BYTES (1u << 20) /* in the document */

static void judge(struct pinfold_run *run, const struct link_left *left)
{
	run->stop = remote_stop(left->stop);
	run->have_status = left->known;
	run->wait_status = left->status;
	run->started_us = now_us() - left->wall_us;
	run->ended_us = now_us();
	run->hangs_up = !left->over;
}

void follow_end(struct pinfold_run *run)
{
	struct epoll_event ev = {.events = EPOLLIN};

	run->hangs_up = true;
	fd_close(&run->link);
	run->state = RUN_DRAINING;
	/* Always readable: the result is there to be taken. */
	run->timer = ev.data.fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	(void)epoll_ctl(run->epoll, EPOLL_CTL_ADD, run->timer, &ev); /* or he waits for nothing */
}

static void lose_daemon(struct pinfold_run *run)
{
	struct err e = ERR_INIT;

	(void)err_set(&e, ERR_INTERNAL, "the daemon ended, and the sandbox with it");
	run_fail(run, &e, 125);
	fd_close(&run->link);
	run->state = RUN_DRAINING;
}

static int take_output(struct pinfold_run *run, const struct link_output *o, const char *data,
		       size_t len, struct pinfold_event *ret)
{
	int stream = o->stream == 2;

	if (o->len != len || len == 0)
		return 0;
	run->skipped += o->skipped;
	if (run->req.flags & PINFOLD_CAPTURE)
		(void)capture_add(&run->capture[stream], data, len);
	*ret = (struct pinfold_event){
		.kind = stream ? PINFOLD_EVENT_STDERR : PINFOLD_EVENT_STDOUT,
		.data = data,
		.len = len,
	};
	return 1;
}

int follow_message(struct pinfold_run *run, struct pinfold_event *ret)
{
	struct link_msg msg;
	struct iovec iov[2] = {{&msg, sizeof(msg)}, {run->buf, LINK_OUTPUT_MAX}};
	struct msghdr hdr = {.msg_iov = iov, .msg_iovlen = 2};
	ssize_t n = run->held_back ? -1 : recvmsg(run->link, &hdr, MSG_DONTWAIT);

	if (n < 0 && (run->held_back || errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < (ssize_t)sizeof(msg)) {
		lose_daemon(run);
		return 0;
	}
	if (msg.kind == LINK_OUTPUT)
		return take_output(run, &msg.output, run->buf, (size_t)n - sizeof(msg), ret);
	if (msg.kind == LINK_LEFT) {
		judge(run, &msg.left);
		fd_close(&run->link);
		run->state = RUN_DRAINING;
	}
	return 0;
}

/* The connection, and what it brought. */
static int call(struct pinfold_run *run, struct link_ask *ask, struct link_msg *ret, struct err *e)
{
	int fds[2] = {FD_NONE, FD_NONE};
	int r = remote_open(&run->link, e);

	if (r >= 0)
		r = remote_ask(run->link, ask, NULL, NULL, e);
	if (r >= 0)
		r = remote_next(run->link, 0, ret, fds, e);
	run->input = take_fd(&fds[0]);
	fd_close(&fds[1]);
	if (r >= 0 && ret->kind == LINK_ERROR) {
		remote_error(ret, e);
		return -EREMOTEIO;
	}
	return r;
}

static int follow(struct pinfold_run *run, struct link_ask *ask, uint32_t flags, struct err *e)
{
	struct epoll_event ev = {.events = EPOLLIN};
	struct link_msg msg;

	ask->flags |= (flags & PINFOLD_FOLLOW_STAY ? LINK_STAY : 0) |
		      (flags & PINFOLD_FOLLOW_NOW ? LINK_NOW : 0) |
		      (flags & PINFOLD_FOLLOW_INPUT ? LINK_INPUT : 0);
	int r = call(run, ask, &msg, e);
	if (r < 0)
		return r;
	memcpy(&run->req.spec.limits, &msg.ok.limits, sizeof(run->req.spec.limits));
	request_held(&run->req, msg.ok.group, msg.ok.volume);
	run->req.spec.pty = msg.ok.terminal;
	run->followed = ask->pid;
	ev.data.fd = run->link;
	run->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (run->epoll < 0 || epoll_ctl(run->epoll, EPOLL_CTL_ADD, run->link, &ev) < 0)
		return err_sys(e, "event loop");
	(void)snprintf(run->req.spec.id, sizeof(run->req.spec.id), "%.*s",
		       (int)sizeof(run->req.spec.id) - 1, ask->id);
	for (int i = 0; i < 2; i++)
		capture_init(&run->capture[i], KEPT_BYTES);
	run->req.flags = flags & PINFOLD_FOLLOW_KEEP ? PINFOLD_CAPTURE : 0;
	run->follows = true;
	run->state = RUN_RUNNING;
	return 0;
}

static int begin(const char *id, uint32_t flags, struct link_ask *ask, struct pinfold_run **ret_run,
		 struct pinfold_error *ret_error)
{
	struct pinfold_run *run = run_new();
	struct err e = ERR_INIT;
	int r = run ? sandbox_check_id(id, &e) : err_sys(&e, "run");

	if (r >= 0)
		r = id_make("run", run->id, &e);
	if (r >= 0) {
		(void)snprintf(ask->id, sizeof(ask->id), "%s", id);
		r = follow(run, ask, flags, &e);
	}
	if (r < 0) {
		pinfold_run_free(run);
		return sandbox_result(r, &e, ret_error);
	}
	*ret_run = run;
	return 0;
}

int pinfold_sandbox_follow(const char *id, uint32_t pid, uint32_t flags,
			   struct pinfold_run **ret_run, struct pinfold_error *ret_error)
{
	struct link_ask ask = {.op = LINK_FOLLOW, .pid = pid};

	return begin(id, flags, &ask, ret_run, ret_error);
}

int pinfold_sandbox_follow_from(const char *id, uint32_t pid, uint32_t flags, int64_t offset,
				struct pinfold_run **ret_run, struct pinfold_error *ret_error)
{
	struct link_ask ask = {.op = LINK_FOLLOW, .flags = LINK_FROM, .pid = pid, .offset = offset};

	return begin(id, flags, &ask, ret_run, ret_error);
}
