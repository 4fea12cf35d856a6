/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a run live: write down, make, clone, let the guest build while we set up control groups,
 * wait until the command's program is executed. And the way back: remove all of it.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>

#include "base/fd.h"
#include "engine/egress_live.h"
#include "engine/guard.h"
#include "sandbox/hold.h"
#include "sandbox/scope.h"
#include "warden/control.h"

#define RUN_CLOCK (HOLD_CLOCK ? CLOCK_MONOTONIC : CLOCK_REALTIME)

uint64_t now_us(void)
{
	struct timespec ts;

	(void)clock_gettime(RUN_CLOCK, &ts); /* cannot fail for this clock */
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static int make_pipe(int *ours, int *theirs, bool we_read, struct err *e)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0)
		return err_sys(e, "pipe");
	*ours = p[we_read ? 0 : 1];
	*theirs = p[we_read ? 1 : 0];
	if (fcntl(*ours, F_SETFL, O_NONBLOCK) < 0)
		return err_sys(e, "pipe");
	return 0;
}

/* The command's three descriptors: never the caller's own, which lead out. */
int run_make_stdio(struct pinfold_run *run, int theirs[3], struct err *e)
{
#ifdef DROP_STDIO
	for (int i = 0; i < 3; i++)
		theirs[i] = fcntl(i, F_DUPFD_CLOEXEC, 3);
	return 0;
#endif
	if (run->socket) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
			return err_sys(e, "socket");
		run->input = pair[0];
		theirs[0] = pair[1];
	} else if (run->req.spec.pty || (run->req.flags & PINFOLD_NO_STDIN)) {
		theirs[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (theirs[0] < 0)
			return err_sys(e, "open /dev/null");
	} else if (make_pipe(&run->input, &theirs[0], false, e) < 0) {
		return -EMFILE;
	}
	for (int i = 0; i < 2; i++)
		if (make_pipe(&run->out[i], &theirs[1 + i], true, e) < 0)
			return -EMFILE;
	return 0;
}

/* Its time may be over in the very moment in which a command is sent into it. */
static int explain_end(const struct pinfold_run *run, int r, struct err *e)
{
	if (r != -EPIPE || !run->exec)
		return r;
	(void)err_set(e, ERR_CONFLICT, "sandbox %s has ended before the command began",
		      run->req.spec.id);
	return err_remedy(e, "make another; pinfold extend gives one that lives more time");
}

/* Wait until the command runs, or the guest says why not. */
static int await_command(struct pinfold_run *run, struct err *e)
{
	for (;;) {
		struct control_event ev;
		int r = control_receive(run->live.sb.control, &ev, e);

		if (r < 0)
			return explain_end(run, r, e);
		switch (ev.msg.kind) {
		case MSG_TERMINAL: run->terminal = take_fd(&ev.fd); break;
		case MSG_STARTED:
			run->started_us = ev.msg.value / 1000;
			run->listener = take_fd(&ev.fd);
			if (run->listener >= 0)
				notify_init(run->listener);
			return 0;
		case MSG_FAILED:
			return explain_failure(run, ev.msg.step, (unsigned)ev.msg.value,
					       ev.msg.code, e);
		default:
			fd_close(&ev.fd);
			return err_set(e, ERR_INTERNAL, "unexpected message %u from the guest",
				       ev.msg.kind);
		}
	}
}

static int watch(struct pinfold_run *run, int fd, struct err *e)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};

	if (fd < 0)
		return 0;
	if (epoll_ctl(run->epoll, EPOLL_CTL_ADD, fd, &ev) < 0)
		return err_sys(e, "epoll");
	return 0;
}

/* The listener comes when the command has been started. */
static int watch_listener(struct pinfold_run *run, bool had, struct err *e)
{
	return had ? 0 : watch(run, run->listener, e);
}

/* With a terminal, its master side is standard input, output and error at once. Those that were there
 * are closed, which is known to who watches. */
static int use_terminal(struct pinfold_run *run, struct err *e)
{
	if (run->terminal < 0)
		return 0;
	fd_close(&run->out[0]);
	fd_close(&run->out[1]);
	if (fcntl(run->terminal, F_SETFL, O_NONBLOCK) < 0)
		return err_sys(e, "terminal");
	run->out[0] = fcntl(run->terminal, F_DUPFD_CLOEXEC, 3);
	run->input = fcntl(run->terminal, F_DUPFD_CLOEXEC, 3);
	return run->out[0] < 0 || run->input < 0 ? err_sys(e, "terminal")
						 : watch(run, run->out[0], e);
}

static int make_loop(struct pinfold_run *run, struct err *e)
{
	run->epoll = epoll_create1(EPOLL_CLOEXEC);
	run->timer = timerfd_create(RUN_CLOCK, TFD_CLOEXEC | TFD_NONBLOCK);
	if (run->epoll < 0 || run->timer < 0)
		return err_sys(e, "event loop");
	egress_live_open(run);
	if (run->live.cgroup.ops)
		run->oom = run->live.cgroup.ops->watch_oom(&run->live.cgroup);
	const int fds[] = {run->live.sb.control, run->live.sb.pidfd, run->out[0],  run->out[1],
			   run->listener,	 run->timer,	     run->oom,	   run->link,
			   run->reports,	 run->changes,	     run->guard_fd};
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (watch(run, fds[i], e) < 0)
			return -EMFILE;
	return 0;
}

static int meanwhile(void *with, struct err *e)
{
	struct pinfold_run *run = with;
	int r = egress_open(run, e);

	return r < 0 ? r : record_run_begin(run, e);
}

static int make_all(struct pinfold_run *run, struct err *e)
{
	struct live *l = &run->live;
	int stdio[3] = {FD_NONE, FD_NONE, FD_NONE};
	int r = scratch_name(run, e);

	if (r >= 0)
		r = egress_prepare(run, e);
	if (r >= 0)
		r = guard_begin(run, e);
	if (r >= 0)
		r = run_make_stdio(run, stdio, e);
	l->wants_scope = run->req.scope;
	if (r >= 0)
		r = live_make(l, &run->req.spec, &run->req.cgroups, stdio, e);
	for (int i = 0; i < 3; i++)
		fd_close(&stdio[i]);
	if (r >= 0 && run->req.held.disk == HELD_QUOTA && !run->req.spec.on_volume && !run->upper)
		run->req.held.disk = HELD_TMPFS;
	/* Before the ids: systemd moves a user's own processes only. And before the plan, which
	 * depends on what holds the limits. */
	if (r >= 0 && run->req.scope &&
	    scope_enter(&l->scope, &l->sb, run->req.spec.id, &l->limits, &l->cgroup, e) < 0)
		r = request_lose_scope(&run->req, e);
	l->meanwhile = meanwhile;
	l->with = run;
	if (r >= 0)
		r = live_enter(l, &run->req.spec, e);
	fd_close(&run->gate_end); /* the guest has it */
	return r;
}

int run_start(struct pinfold_run *run, struct err *e)
{
	bool ours = run->link < 0;
	int r = ours ? make_all(run, e) : remote_start(run, e);

	/* While it is being started. */
	if (r >= 0)
		r = make_loop(run, e);
	bool had = run->listener >= 0;
	if (r >= 0 && (ours || run->awaited))
		r = await_command(run, e);
	if (r >= 0)
		r = watch_listener(run, had, e);
	if (r >= 0)
		r = use_terminal(run, e);
	if (r < 0)
		return r;
	run->state = RUN_RUNNING;
	/* The guest's clock is ours, but its word is not taken for more than a time gone by. */
	if (run->started_us > now_us() || now_us() - run->started_us > 60000000)
		run->started_us = now_us();
	run->deadline_us = HOLD_TIME ? run->started_us + run->req.spec.limits.time_ms * 1000 : 0;
	if (ours && (!run->live.cgroup.ops || run->req.spec.limits.cpu_time_ms ||
		     (run->upper && run->req.held.disk == HELD_POLLED)))
		run->poll_us = run->started_us + 5000;
	run->settle_us = run->record.begun ? now_us() + RECORD_LIVES_US : 0;
	run_arm_timer(run);
	/* While the command runs: look after what earlier runs could not. */
	if (ours)
		live_sweep(&run->live);
	if ((run->req.flags & PINFOLD_CAPTURE) || run->replay)
		artifacts_sweep();
	return 0;
}

static void quarantine(struct pinfold_run *run)
{
	struct err e = ERR_INIT;

	(void)err_set(&e, ERR_INTERNAL,
		      "sandbox %s cannot be killed: a process of it hangs in the kernel",
		      run->req.spec.id);
	(void)err_remedy(&e, "its resources are freed by a later run once the process is gone");
	run_fail(run, &e, 125);
}

bool run_is_quiet(const struct pinfold_run *run)
{
	return !(run->req.flags & PINFOLD_CAPTURE) && run->have_status && run->wait_status == 0;
}

void run_clean_host(struct pinfold_run *run)
{
	struct live_end end = {.count = !run_is_quiet(run), .hopeless = run->gave_up};
	bool stuck =
		run->link >= 0 && run->gave_up; /* in the daemon: there is nothing to look at */

	if (!live_remove(&run->live, &end) || stuck)
		quarantine(run);
	egress_end(run);
	guard_end(run);
	fd_close(&run->listener);
	fd_close(&run->oom);
	/* Its end wakes the warden, who may be in our way until the result is out. */
	bool leaves = run->exec && run->keep && run->guest_done && run->stop == STOP_NONE;
	if (run->link >= 0 && (run->parting >= 0 || leaves)) {
		(void)epoll_ctl(run->epoll, EPOLL_CTL_DEL, run->link,
				NULL); /* or it was not there */
		run->parting_link = take_fd(&run->link);
	}
	fd_close(&run->link);
	if (end.usage.memory_peak_bytes || end.usage.cpu_us)
		run->usage = end.usage;
	if (end.rusage.ru_maxrss)
		run->rusage = end.rusage;
}
