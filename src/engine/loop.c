/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a run after its start: one epoll set, one function per kind of descriptor, and at
 * most one public event per turn. Time limits, CPU time and polled limits share one timer.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "warden/control.h"
#include "engine/egress_live.h"
#include "engine/guard.h"

#define LET_GO_AFTER_US 1000000u
#define GIVE_UP_AFTER_US 5000000u /* for a process that hangs in the kernel */
#define LOOK_US 1000000u       /* a guest that does not say what was imported is not waited for */
#define FORCE_AFTER_US 500000u /* for a guest that does not obey MSG_KILL */

static uint64_t soonest(uint64_t a, uint64_t b)
{
	return !a ? b : !b ? a : a < b ? a : b;
}

void run_arm_timer(struct pinfold_run *run)
{
	uint64_t at = soonest(soonest(soonest(run->deadline_us, run->poll_us), run->settle_us),
			      soonest(soonest(run->give_up_us, run->drop_us),
				      soonest(run->kill_us, run->force_us)));
	struct itimerspec spec = {
		.it_value = {.tv_sec = (time_t)(at / 1000000),
			     .tv_nsec = (long)(at % 1000000) * 1000},
	};

	(void)timerfd_settime(run->timer, TFD_TIMER_ABSTIME, &spec,
			      NULL); /* valid by construction */
}

void run_stop(struct pinfold_run *run, enum run_stop why, bool at_once)
{
	if (run->state != RUN_RUNNING && run->state != RUN_STOPPING)
		return;
	if (run->follows) {
		follow_end(run);
		return;
	}
	if (run->stop == STOP_NONE)
		run->stop = why;
	if (run->state == RUN_RUNNING && !at_once) {
		control_send(run->live.sb.control, MSG_SIGNAL, SIGTERM);
		run->kill_us = now_us() + run->req.spec.limits.grace_ms * 1000;
	} else if (at_once && !run->force_us) {
		control_send(run->live.sb.control, MSG_KILL, 0);
		run->kill_us = 0;
		run->force_us = now_us() + FORCE_AFTER_US;
	}
	run->state = RUN_STOPPING;
	run->deadline_us = run->poll_us = 0;
	run_arm_timer(run);
}

static void take_usage(struct pinfold_run *run, uint64_t cpu_us, uint64_t peak_kb)
{
	run->rusage.ru_utime =
		(struct timeval){(time_t)(cpu_us / 1000000), (suseconds_t)(cpu_us % 1000000)};
	run->rusage.ru_stime = (struct timeval){0};
	run->rusage.ru_maxrss = (long)peak_kb;
}

/* Take one message of the guest; false when there is none any more. */
static bool take_message(struct pinfold_run *run)
{
	struct control_event ev;
	struct err e = ERR_INIT;

	if (control_receive(run->live.sb.control, &ev, &e) < 0)
		return false;
	switch (ev.msg.kind) {
	case MSG_EXITED:
		run->wait_status = ev.msg.code;
		run->have_status = true;
		run->ended_us = ev.msg.value / 1000;
		if (run->ended_us < run->started_us || run->ended_us > now_us())
			run->ended_us = now_us();
		if (ev.msg.value2 + 1 > run->polled_pids_peak)
			run->polled_pids_peak = ev.msg.value2 + 1;
		/* A control group counts what it refuses; of the rest only this can be seen. */
		if (run->req.held.pids != HELD_CGROUP &&
		    run->polled_pids_peak >= run->req.spec.limits.pids)
			run->pids_full = true;
		run->deadline_us = run->kill_us = run->poll_us = run->settle_us = 0;
		run_arm_timer(run);
		break;
	case MSG_USAGE: take_usage(run, ev.msg.value, ev.msg.value2); break;
	case MSG_SEEN:
		deps_of_live(&run->req.deps, &run->layered_on);
		deps_seen(&run->req.deps, ev.name, ev.msg.len, run->exec);
		run->seen++;
		break;
	case MSG_FILE: run_add_file(run, &ev.msg, ev.name, ev.fd); break;
	case MSG_DONE:
		run->files_omitted += ev.msg.value;
		run->disk_bytes = ev.msg.value2;
		run->disk_full |= (ev.msg.code & MSG_FULL_LAYER) != 0;
		run->tmp_full |= (ev.msg.code & MSG_FULL_TMP) != 0;
		run->guest_done = true;
		if (!run->exec)
			take_usage(run, ev.msg.cpu_us, ev.msg.peak_kb);
		remote_tell(run);
		break;
	default: break; /* a guest gone wild is not believed */
	}
	fd_close(&ev.fd);
	return true;
}

void run_look(struct pinfold_run *run)
{
	struct pollfd p = {.fd = run->live.sb.control, .events = POLLIN};
	uint64_t now = now_us(), until = now + LOOK_US;
	unsigned before = run->seen;

	if (p.fd < 0 || run->have_status || run->guest_done)
		return;
	control_send(p.fd, MSG_LOOK, 0);
	for (; run->seen == before && now < until; now = now_us())
		if (poll(&p, 1, (int)((until - now) / 1000) + 1) > 0 && !take_message(run))
			return; /* its end, which the loop sees, too */
}

/* The guest has ended, and with it the sandbox. What it still said is in the socket. */
static void on_guest_end(struct pinfold_run *run)
{
	struct epoll_event none = {.events = 0};

	if (run->live.sb.pidfd >= 0)
		(void)epoll_ctl(run->epoll, EPOLL_CTL_DEL, run->live.sb.pidfd, &none);
	while (run->live.sb.control >= 0 && !run->guest_done && take_message(run))
		;
	if (!run->ended_us)
		run->ended_us = now_us();
	run->deadline_us = run->kill_us = run->force_us = run->give_up_us = run->poll_us = 0;
	run->settle_us = 0;
	/* A command that was stopped for its time does not get more of it by a slow reader. */
	run->drop_us = run->stop != STOP_NONE ? now_us() + LET_GO_AFTER_US : 0;
	run_arm_timer(run);
	run_clean_host(run);
	run->state = RUN_DRAINING;
}

/* No more of the guest: its pidfd, or the daemon, tells the rest. A command in a sandbox that lives
 * has ended; without a word of it the sandbox is about to. */
static void on_control(struct pinfold_run *run)
{
	if (take_message(run) && !(run->exec && run->guest_done)) {
		if (run->settled)
			on_guest_end(run);
		return;
	}
	(void)epoll_ctl(run->epoll, EPOLL_CTL_DEL, run->live.sb.control, NULL);
	if (run->exec && run->have_status && !remote_ask_hit(run)) {
		on_guest_end(run);
	} else if (run->exec) {
		run->give_up_us = now_us() + GIVE_UP_AFTER_US;
		run_arm_timer(run);
	}
}

static void on_timer(struct pinfold_run *run)
{
	uint64_t now = now_us(), ticks;

	(void)!read(run->timer, &ticks, sizeof(ticks)); /* only to make it quiet */
	if (run->deadline_us && now >= run->deadline_us)
		run_stop(run, STOP_TIME, false);
	if (run->kill_us && now >= run->kill_us)
		run_stop(run, run->stop, true);
	if (run->force_us && now >= run->force_us && run->exec) {
		on_guest_end(run); /* the guest kills it when we hang up */
		return;
	}
	if (run->force_us && now >= run->force_us) {
		run->force_us = 0;
		if (run->link >= 0)
			remote_kill(run);
		else
			sandbox_kill(&run->live.sb);
		cgroup_kill(&run->live.cgroup);
		run->give_up_us = HOLD_GIVE_UP ? now + GIVE_UP_AFTER_US : 0;
	}
	if (run->drop_us && now >= run->drop_us) {
		run->drop_us = 0;
		fd_close(&run->out[0]);
		fd_close(&run->out[1]);
	}
	if (run->give_up_us && now >= run->give_up_us) {
		run->gave_up = !run->exec;
		on_guest_end(run);
		return;
	}
	if (run->poll_us && now >= run->poll_us)
		run_poll_usage(run);
	if (run->settle_us && now >= run->settle_us) {
		run->settle_us = 0;
		record_run_lives(run);
	}
	run_arm_timer(run);
}

static void on_listener(struct pinfold_run *run, uint32_t events)
{
	struct notify_event ev;
	/* Hung up: the last process under the filter is gone. */
	int r = events & EPOLLIN ? notify_take(run->listener, &ev) : -EPIPE;

	if (r > 0 && ev.guard) {
		r = guard_event(run, &ev);
	} else if (r > 0) {
		if (ev.network)
			egress_name(run, &ev);
		run_deny(run, ev.network ? "network" : "syscall", &ev);
		r = alerts_answer(run, &ev);
	}
	if (r < 0) {
		(void)epoll_ctl(run->epoll, EPOLL_CTL_DEL, run->listener, NULL);
		fd_close(&run->listener);
	}
}

/* 1: *ret is an event with output. */
static int on_output(struct pinfold_run *run, int stream, struct pinfold_event *ret)
{
	ssize_t n = read(run->out[stream], run->buf, sizeof(run->buf));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) { /* EIO is how a terminal's master says end */
		fd_close(&run->out[stream]);
		return 0;
	}
	record_run_output(run, stream, run->buf, (size_t)n);
	replay_output(run, stream, run->buf, (size_t)n);
	alerts_output(run, stream, run->buf, (size_t)n);
	if (run->req.flags & PINFOLD_CAPTURE) {
		struct capture *c = &run->capture[stream];

		if (c->artifact == FD_NONE && !run->artifact[stream][0] &&
		    c->total + (uint64_t)n > c->head_max + c->tail_max)
			run_start_artifact(run, stream);
		(void)capture_add(c, run->buf, (size_t)n); /* counted even when not kept */
	}
	*ret = (struct pinfold_event){
		.kind = stream == 0 ? PINFOLD_EVENT_STDOUT : PINFOLD_EVENT_STDERR,
		.data = run->buf,
		.len = (size_t)n,
	};
	return 1;
}

static int dispatch(struct pinfold_run *run, int fd, uint32_t events, struct pinfold_event *ret)
{
	if (fd == run->out[0] || fd == run->out[1])
		return run->held_back ? 0 : on_output(run, fd == run->out[1], ret);
	if (run->follows && fd == run->link)
		return follow_message(run, ret);
	if (fd == run->timer && !run->follows)
		on_timer(run);
	else if (fd == run->listener)
		on_listener(run, events);
	else if (fd == run->live.sb.control)
		on_control(run);
	else if (fd == run->live.sb.pidfd || (fd == run->link && remote_message(run)))
		on_guest_end(run);
	else if (fd == run->reports && !egress_report(run))
		(void)epoll_ctl(run->epoll, EPOLL_CTL_DEL, fd, NULL); /* the gate died */
	else if (fd == run->changes)
		egress_live_take(run);
	else if (fd == run->guard_fd && !guard_message(run))
		(void)epoll_ctl(run->epoll, EPOLL_CTL_DEL, fd, NULL); /* the warden asks no more */
	else if (egress_answered(run, fd) || guard_answered(run, fd))
		;
	else if (fd == run->oom)
		run_stop(run, STOP_MEMORY, true);
	return 0;
}

void pinfold_run_hold(struct pinfold_run *run, int hold)
{
	if (run->held_back == (hold != 0))
		return;
	run->held_back = hold != 0;
	if (run->follows && run->link >= 0) {
		struct epoll_event ev = {.events = EPOLLIN, .data.fd = run->link};

		(void)epoll_ctl(run->epoll, hold ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, run->link, &ev);
	}
	for (int i = 0; i < 2; i++) {
		struct epoll_event ev = {.events = hold ? 0 : EPOLLIN, .data.fd = run->out[i]};

		if (run->out[i] >= 0)
			(void)epoll_ctl(run->epoll, hold ? EPOLL_CTL_DEL : EPOLL_CTL_ADD,
					run->out[i], &ev);
	}
}

/* Things to tell that need no waiting. */
static int pending(struct pinfold_run *run, struct pinfold_event *ret)
{
	if (!run->started_told && run->state != RUN_ENDED) {
		run->started_told = true;
		*ret = (struct pinfold_event){.kind = PINFOLD_EVENT_STARTED};
		return 1;
	}
	if (run->question_untold) {
		run->question_untold = false;
		*ret = (struct pinfold_event){PINFOLD_EVENT_ASK, run->question,
					      strlen(run->question)};
		return 1;
	}
	if (run->denials_told < run->n_denials) {
		const struct run_denial *d = &run->denials[run->denials_told++];

		*ret = (struct pinfold_event){PINFOLD_EVENT_DENIAL, d->what, strlen(d->what)};
		return 1;
	}
	if (run->alerts.told < run->alerts.n) {
		const struct run_alert *a = &run->alerts.list[run->alerts.told++];
		int n = snprintf(run->line, sizeof(run->line), "%s %s", alert_name(a->rule),
				 a->what);

		*ret = (struct pinfold_event){PINFOLD_EVENT_ALERT, run->line, (size_t)n};
		return 1;
	}
	if (run->state == RUN_DRAINING && run->out[0] < 0 && run->out[1] < 0) {
		run_sort_files(run);
		run_judge(run);
		workspace_end(run);
		replay_keep(run);
		record_run_end(run, NULL);
		run->state = RUN_ENDED;
	}
	if (run->state == RUN_ENDED && !run->result_told) {
		run->result_told = true;
		*ret = (struct pinfold_event){.kind = PINFOLD_EVENT_RESULT};
		return 1;
	}
	return 0;
}

/* Once every process is gone the pipes hold all there will ever be; nobody else can hold their
 * other end open, so an empty pipe is an ended one. */
static int drain(struct pinfold_run *run, struct pinfold_event *ret)
{
	for (int i = 0; i < 2 && !run->held_back; i++) {
		if (run->out[i] < 0)
			continue;
		int r = on_output(run, i, ret);
		if (r > 0)
			return r;
		fd_close(&run->out[i]);
	}
	return 0;
}

int pinfold_run_next(struct pinfold_run *run, int timeout_ms, struct pinfold_event *ret_event)
{
	uint64_t until = timeout_ms < 0 ? 0 : now_us() + (uint64_t)timeout_ms * 1000;

	for (;;) {
		struct epoll_event ev;

		if (run->state == RUN_DRAINING && drain(run, ret_event) > 0)
			return 1;
		if (pending(run, ret_event))
			return 1;
		if (run->state == RUN_ENDED)
			return 0;
		int wait = timeout_ms;
		if (timeout_ms > 0) {
			uint64_t now = now_us();

			wait = now >= until ? 0 : (int)((until - now) / 1000) + 1;
		}
		int n = epoll_wait(run->epoll, &ev, 1, wait);
		if (n == 0)
			return 0;
		if (n > 0 && dispatch(run, ev.data.fd, ev.events, ret_event) > 0)
			return 1;
		if (n < 0 && errno == EINTR && timeout_ms >= 0)
			return 0;
	}
}
