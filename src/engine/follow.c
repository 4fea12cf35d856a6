/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run that is not ours: its command is the daemon's, which sends us what it prints. The handle has
 * the same events as any other; stopping it means to hang up, and the command goes on.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "engine/run_int.h"

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
