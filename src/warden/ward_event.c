/* SPDX-License-Identifier: Apache-2.0 */
/* What is heard of a sandbox: from its guest, its caller and the kernel. */
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "sandbox/notify.h"
#include "warden/caller.h"
#include "warden/control.h"
#include "warden/guard.h"
#include "warden/job.h"
#include "warden/layered.h"
#include "warden/pool.h"
#include "warden/stock.h"
#include "warden/visit.h"
#include "warden/ward_int.h"
#include "warden/zygote.h"
#include "wire/msg.h"

/* Which of its packages were used, as the guest has it: letters and nothing else. */
static void take_seen(struct ward *ward, const struct control_event *ev)
{
	if (ev->msg.len <= WARDEN_IMPORTED_MAX && strspn(ev->name, MSG_SEEN_ALL) == ev->msg.len)
		memcpy(ward->imported, ev->name, ev->msg.len + 1);
}

static void take_listener(struct ward *ward, struct control_event *ev)
{
	if (ev->fd < 0)
		return;
	fd_close(&ward->listener);
	ward->listener = take_fd(&ev->fd);
	notify_init(ward->listener);
}

static void watch_listener(struct warden *w, struct ward *ward)
{
	struct err e = ERR_INIT;

	if (ward->listener >= 0)
		(void)warden_watch(w, ward->listener, &ward->sources[SOURCE_LISTENER], &e);
}

/* Nobody stays with it. The caller learns its name. */
static void on_held_started(struct warden *w, struct ward *ward, struct control_event *ev)
{
	struct link_msg msg = {.kind = LINK_OK};

	(void)snprintf(msg.ok.sandbox, sizeof(msg.ok.sandbox), "%s", ward->spec.id);
	ward->state = WARD_RUNNING;
	ward->grouped = ward->live.cgroup.ops != NULL;
	take_listener(ward, ev);
	watch_listener(w, ward);
	ward_watch_memory(w, ward);
	job_started(w, ward, ev->msg.code, &ward->terminal);
	fd_close(&ward->terminal);
	ward_set_deadline(w, ward, warden_now_us() + ward->spec.limits.time_ms * 1000);
	ward->nursed = job_is_own(ward);
	(void)ward_tell(ward, &msg, NULL, 0); /* the first: there is room */
	warden_unwatch(w, ward->client);
	fd_close(&ward->client);
}

/* The caller gets the control socket; what is left for us is to hold limits and to clean up. */
static void on_started(struct warden *w, struct ward *ward, struct control_event *ev)
{
	struct link_msg msg = {.kind = LINK_STARTED};
	const int fds[] = {ward->live.sb.control, ward->terminal};

	ward_describe(ward, &msg);
	msg.started.started_ns = ev->msg.value;
	msg.started.cpu_before_us = ward->kind != KIND_PLAIN ? ev->msg.value2 : 0;
	if (ward->warm)
		msg.started.warm = 1 + (ev->msg.step == MSG_BY_DRIVER);
	ward->state = WARD_RUNNING;
	(void)ward_tell(ward, &msg, fds, 2); /* the first: there is room */
	warden_unwatch(w, ward->live.sb.control);
	fd_close(&ward->live.sb.control);
	fd_close(&ward->terminal);
	ward_watch_memory(w, ward);
	take_listener(ward, ev);
	watch_listener(w, ward);
}

int ward_hand_over(struct warden *w, struct ward *ward, const int stdio[3], struct err *e)
{
	struct link_msg msg = {.kind = LINK_STARTED};

	ward_describe(ward, &msg);
	msg.started.awaited = 1;
	ward_watch_memory(w, ward);
	watch_listener(w, ward);
	warden_unwatch(w, ward->live.sb.control);
	int r = pool_begin(ward, stdio, e);
	if (r < 0)
		return r;
	ward->state = WARD_RUNNING;
	(void)ward_tell(ward, &msg, &ward->live.sb.control, 1); /* the first: there is room */
	fd_close(&ward->live.sb.control);
	return 0;
}

/* What can be done before somebody waits for it. A mount namespace takes a while to come apart: held
 * by us it does so after the caller was told that all processes are gone, not before the kernel can
 * say so. */
static void be_ready(struct warden *w, struct ward *ward, struct control_event *ev)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)ward->live.sb.pid);
	ward->mounts = open(path, O_RDONLY | O_CLOEXEC); /* or it is slower */
	take_listener(ward, ev);
	/* A fork of the zygote has to have rights over what it enters. */
	if (ward->kind == KIND_PLAIN && !ward->layered)
		stock_note(w, ward);
	if (ward->live.cgroup.ops)
		ward->oom = ward->live.cgroup.ops->watch_oom(&ward->live.cgroup);
}

/* Take one message; false when there is none any more. */
static bool on_control(struct warden *w, struct ward *ward)
{
	struct control_event ev;
	struct err e = ERR_INIT;
	struct link_msg msg = {.kind = LINK_FAILED};

	if (control_receive(ward->live.sb.control, &ev, &e) < 0) {
		/* Gone: the guest's own descriptor tells when. */
		warden_unwatch(w, ward->live.sb.control);
		return false;
	}
	switch (ev.msg.kind) {
	case MSG_READY:
		if (ward->state == WARD_MAKING) {
			be_ready(w, ward, &ev);
			if (ward->layered) {
				layered_ready(w, ward, ev.msg.step == MSG_BY_DRIVER);
				return false; /* it may be gone */
			}
			pool_ready(w, ward);
			if (ward->spec.forked)
				zygote_succeeded(w);
		}
		break;
	case MSG_FORK:
		if (ward->state == WARD_MAKING)
			zygote_ask(w, ward, ev.fd);
		break;
	case MSG_TERMINAL:
		fd_close(&ward->terminal);
		ward->terminal = take_fd(&ev.fd);
		break;
	case MSG_STARTED:
		if (ward->state == WARD_STARTING && ward->held)
			on_held_started(w, ward, &ev);
		else if (ward->state == WARD_STARTING)
			on_started(w, ward, &ev);
		break;
	case MSG_SEEN: take_seen(ward, &ev); break;
	case MSG_EXITED:
		if (ward->held)
			job_exited(ward, ev.msg.code);
		break;
	case MSG_FAILED:
		ward_describe(ward, &msg);
		msg.code = ev.msg.code;
		msg.step = ev.msg.step;
		msg.op = (uint32_t)ev.msg.value;
		(void)ward_tell(ward, &msg, NULL, 0); /* the first: there is room */
		ward->answered = true;
		break;
	default: break;
	}
	fd_close(&ev.fd);
	return true;
}

static void on_guest_end(struct warden *w, struct ward *ward)
{
	struct err e = ERR_INIT;

	if (ward->state == WARD_MAKING && ward->layered)
		layered_failed(ward);
	else if (ward->state == WARD_MAKING)
		pool_failed(w, "its init ended");
	/* What it still said is in the socket. */
	while ((ward->held || (ward->state == WARD_STARTING && !ward->answered)) &&
	       on_control(w, ward))
		;
	int status;
	if (ward->state == WARD_RUNNING && ward->held && ward->stop == LINK_STOP_NONE &&
	    !job_status(ward, &status) && ward_oom_kills(ward))
		ward->stop = LINK_STOP_MEMORY; /* nobody was left but the guest */
	if (ward->state == WARD_STARTING && !ward->answered) {
		(void)err_set(&e, ERR_INTERNAL, "the guest ended unexpectedly");
		ward_refuse(ward->client, &e);
	}
	ward_end(w, ward);
}

/* What was refused. False: the caller does not read, and is told when he does. */
static bool tell_denial(const struct ward *ward, const struct notify_event *ev,
			struct link_msg *msg)
{
	struct link_denial *d = &msg->denial;

	*msg = (struct link_msg){.kind = LINK_DENIAL,
				 .denial = {.network = ev->network, .port = ev->port}};
	(void)snprintf(d->what, sizeof(d->what), "%s", ev->what);
	(void)snprintf(d->hint, sizeof(d->hint), "%s", ev->hint ? ev->hint : "");
	(void)snprintf(d->host, sizeof(d->host), "%s", ev->network ? ev->host : "");
	if (ev->network && ward->spec.egress.n_ports)
		d->network = LINK_NETWORK_POLICY;
	/* Who made it knows its policy, and what the gate decides; who only has a command in it
	 * does not. */
	if (!notify_is_gated(&ward->spec.egress, ev))
		visitors_tell(ward, msg);
	return ward_tell(ward, msg, NULL, 0);
}

/* Told before it is answered: when its command has ended, all that was refused is in the caller's socket. */
static void on_listener(struct warden *w, struct ward *ward, uint32_t events)
{
	struct notify_event ev = {0};
	int r = events & EPOLLIN ? notify_take(ward->listener, &ev) : -EPIPE;
	bool told = !ev.what[0] || tell_denial(ward, &ev, &ward->pending);

	if (r > 0 && ev.guard)
		r = ward_guard_ask(w, ward, &ev);
	else if (r > 0 && ward_refused(w, ward, &ev) && notify_answer(ward->listener, &ev) < 0)
		r = -EPIPE;
	if (r < 0) {
		warden_unwatch(w, ward->listener);
		fd_close(&ward->listener);
	}
	if (told)
		return;
	/* The next refused call waits until he reads. */
	warden_unwatch(w, ward->listener);
	ward_await_reader(w, ward);
}

/* He reads again: what he could not be told before. */
static void on_reader(struct warden *w, struct ward *ward)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = &ward->sources[SOURCE_CLIENT]};
	struct err e = ERR_INIT;

	if (!ward_tell(ward, &ward->pending, NULL, 0))
		return;
	if (ward->state == WARD_LEAVING) {
		ward_free(w, ward);
		return;
	}
	(void)epoll_ctl(w->epoll, EPOLL_CTL_MOD, ward->client, &ev); /* it is watched already */
	if (ward->listener >= 0)
		(void)warden_watch(w, ward->listener, &ward->sources[SOURCE_LISTENER], &e);
}

static void on_client(struct warden *w, struct ward *ward, uint32_t events)
{
	struct link_ask msg = {0};
	int fds[1 + LINK_FDS_MAX];

	if (events == EPOLLOUT) {
		on_reader(w, ward);
		return;
	}
	if (ward->state == WARD_LEAVING) {
		warden_unwatch(w, ward->client);
		ward_free(w, ward);
		return;
	}
	/* Whatever he says, or that he is gone, it is the end. */
	int n = caller_receive(w, ward->client, &msg, fds);
	if (n == -EAGAIN)
		return;
	if (n == 0 && msg.op == LINK_TELL && !ward->held && !ward->asked) {
		if (msg.arg == LINK_LEAVE)
			ward_tell_nobody(ward);
		else
			ward_tell_early(w, ward);
		return;
	}
	warden_unwatch(w, ward->client);
	ward_kill(ward, LINK_STOP_NONE);
	ward_tell_nobody(ward);
	if (n >= 0 && ward->keep && ward->state == WARD_RUNNING && caller_asks_again(&msg)) {
		fds[0] = take_fd(&ward->client);
		caller_ask(w, &msg, fds);
		return;
	}
	while (n > 0)
		fd_close(&fds[n--]);
}

void ward_event(struct warden *w, const struct source *source, uint32_t events)
{
	struct ward *ward = source->ward;

	switch (source->kind) {
	case SOURCE_CONTROL: (void)on_control(w, ward); break;
	case SOURCE_GUEST: on_guest_end(w, ward); break;
	case SOURCE_CLIENT: on_client(w, ward, events); break;
	case SOURCE_LISTENER: on_listener(w, ward, events); break;
	case SOURCE_OOM:
		warden_unwatch(w, ward->oom);
		ward_kill(ward, LINK_STOP_MEMORY);
		break;
	case SOURCE_GUARD: ward_guard_event(w, ward); break;
	case SOURCE_VISITOR: visit_event(w, source); break;
	case SOURCE_JOB_OUT:
	case SOURCE_JOB_ERR:
	case SOURCE_JOB_CTL:
	case SOURCE_JOB_FEED:
	case SOURCE_FOLLOWER: job_event(w, source, events); break;
	case SOURCE_WARD_KINDS:
	case SOURCE_FRONT:
	case SOURCE_SIGNAL:
	case SOURCE_TIMER:
	case SOURCE_JANITOR:
	case SOURCE_PRESSURE:
	case SOURCE_QUEUED:
	case SOURCE_ZYGOTE:
	case SOURCE_LOOK:
	case SOURCE_CALLER: assert(0);
	}
}
