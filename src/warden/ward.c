/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/id.h"
#include "base/passfd.h"
#include "sandbox/hold.h"
#include "sandbox/notify.h"
#include "warden/control.h"
#include "warden/guard.h"
#include "warden/job.h"
#include "warden/layered.h"
#include "warden/pool.h"
#include "warden/stock.h"
#include "warden/zygote.h"
#include "warden/usage.h"
#include "warden/visit.h"
#include "warden/ward_int.h"
#include "wire/msg.h"

#define LEFT_US 3600000000u /* how long what a command printed is kept behind its end */
#define LEFT_OWN 64u	    /* kept of one owner, */
#define LEFT_MAX 1024u	    /* and of all */
#define EMPTY_POLLS 50u	    /* a second, for a command that is on its way to the guest */
#define GONE_MAX 32u

struct ward *ward_new(struct warden *w)
{
	struct ward *ward = calloc(1, sizeof(*ward));

	if (!ward)
		return NULL;
	live_init(&ward->live);
	ward->spec.dir_fd = FD_NONE;
	ward->client = ward->listener = ward->oom = ward->terminal = ward->mounts = FD_NONE;
	ward->layers = ward->net = FD_NONE;
	for (int i = 0; i < SOURCE_WARD_KINDS; i++)
		ward->sources[i] = (struct source){(enum source_kind)i, ward, NULL};
	ward->next = w->wards;
	if (w->wards)
		w->wards->prev = ward;
	w->wards = ward;
	w->n_wards++;
	return ward;
}

bool ward_waits(const struct ward *ward)
{
	return ward->state == WARD_MAKING || ward->state == WARD_READY;
}

static struct ward **bucket(struct warden *w, const char *id)
{
	unsigned hash = 5381;

	for (; *id; id++)
		hash = hash * 33 + (unsigned char)*id;
	return &w->by_id[hash % WARD_HASH];
}

void ward_index(struct warden *w, struct ward *ward)
{
	struct ward **at = bucket(w, ward->spec.id);

	ward->same_hash = *at;
	*at = ward;
}

static void unindex(struct warden *w, struct ward *ward)
{
	struct ward **at = bucket(w, ward->spec.id);

	while (*at && *at != ward)
		at = &(*at)->same_hash;
	if (*at)
		*at = ward->same_hash;
}

struct ward *ward_find(const struct warden *w, const char *id)
{
	struct ward *ward = *bucket((struct warden *)(uintptr_t)w, id);

	while (ward && strcmp(ward->spec.id, id) != 0)
		ward = ward->same_hash;
	return ward;
}

static void ward_free(struct warden *w, struct ward *ward)
{
	if (ward->prev)
		ward->prev->next = ward->next;
	else
		w->wards = ward->next;
	if (ward->next)
		ward->next->prev = ward->prev;
	w->n_wards--;
	pool_forget(w, ward);
	w->n_watching -= ward->watching;
	queue_ended(w, ward);
	w->n_polled -= ward->polled && !ward->resting;
	w->n_left -= ward->state == WARD_LEFT;
	unindex(w, ward);
	visitors_leave(w, ward);
	ward_guard_end(w, ward);
	jobs_free(w, ward);
	fd_close(&ward->client);
	fd_close(&ward->listener);
	fd_close(&ward->oom);
	fd_close(&ward->terminal);
	fd_close(&ward->mounts);
	fd_close(&ward->layers);
	fd_close(&ward->net);
	plan_free(ward->claim);
	free(ward->metadata);
	free(ward->variables);
	free(ward);
}

void ward_refuse(int client, const struct err *e)
{
	struct link_msg msg = {.kind = LINK_ERROR, .error = *e};

	(void)passfd_send(client, &msg, sizeof(msg), NULL, 0); /* or he is gone */
}

/* False: he does not read, and is told when he does (on_client). */
static bool tell(const struct ward *ward, const struct link_msg *msg, const int *fds, unsigned n)
{
	return ward->client < 0 ||
	       passfd_send(ward->client, msg, sizeof(*msg), fds, n) != -EAGAIN; /* or he is gone */
}

static void await_reader(const struct warden *w, struct ward *ward)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLOUT,
				 .data.ptr = &ward->sources[SOURCE_CLIENT]};

	(void)epoll_ctl(w->epoll, EPOLL_CTL_MOD, ward->client, &ev); /* it is watched already */
}

static uint64_t micros(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

/* What the kernel told who waited for the guest. */
static void note_times(struct ward *ward, const struct rusage *u)
{
	struct link_ended *ended = &ward->pending.ended;

	ended->user_us = micros(&u->ru_utime);
	ended->system_us = micros(&u->ru_stime);
	ended->memory_kb = (uint64_t)u->ru_maxrss;
}

static void note_end(struct ward *ward, const struct live_end *end, bool gone)
{
	struct link_msg *msg = &ward->pending;

	*msg = (struct link_msg){
		.kind = LINK_ENDED,
		.ended =
			{
				.stop = ward->stop,
				.stuck = !gone,
				.memory_peak_bytes = end->usage.memory_peak_bytes,
				.pids_peak = end->usage.pids_peak,
				.cpu_us = end->usage.cpu_us,
				.oom_kills = end->usage.oom_kills,
				.pids_refused = end->usage.pids_refused,
				.pids_full = ward->pids_full,
			},
	};

	note_times(ward, &end->rusage);
	if (ward->memory_peak > msg->ended.memory_peak_bytes)
		msg->ended.memory_peak_bytes = ward->memory_peak;
	if (ward->pids_peak > msg->ended.pids_peak)
		msg->ended.pids_peak = ward->pids_peak;
}

/* Closing is not enough: what somebody else has a copy of would go on sending events. */
static void unwatch_all(const struct warden *w, const struct ward *ward)
{
	warden_unwatch(w, ward->live.sb.control);
	warden_unwatch(w, ward->live.sb.pidfd);
	warden_unwatch(w, ward->client);
	warden_unwatch(w, ward->listener);
	warden_unwatch(w, ward->oom);
}

/* Which one is forgotten: of who has more than his share, else of all, the one that ended first. */
static struct ward *ward_to_forget(const struct warden *w, uid_t owner)
{
	struct ward *first = NULL, *first_own = NULL;
	unsigned own = 0;

	for (struct ward *ward = w->wards; ward; ward = ward->next) {
		if (ward->state != WARD_LEFT)
			continue;
		if (!first || ward->ended_ms < first->ended_ms)
			first = ward;
		if (ward->owner != owner)
			continue;
		own++;
		if (!first_own || ward->ended_ms < first_own->ended_ms)
			first_own = ward;
	}
	return own > LEFT_OWN ? first_own : w->n_left > LEFT_MAX ? first : NULL;
}

/* What its command printed is worth keeping for a while; but not for ever, and not of too many. */
static void ward_leave(struct warden *w, struct ward *ward)
{
	queue_ended(w, ward);
	ward->state = WARD_LEFT;
	w->n_left++;
	ward_set_deadline(w, ward, warden_now_us() + LEFT_US);
	ward = ward_to_forget(w, ward->owner);
	if (ward)
		ward_free(w, ward);
}

/* The caller does not read that it is over: it is told when it does. */
static void ward_linger(struct warden *w, struct ward *ward)
{
	struct err e = ERR_INIT;

	ward->state = WARD_LEAVING;
	if (warden_watch(w, ward->client, &ward->sources[SOURCE_CLIENT], &e) < 0)
		ward_free(w, ward);
	else
		await_reader(w, ward);
}

/* Nobody waits for that: it is done when there is nothing else to do, or there is too much of
 * it. */
static bool ward_remove_later(struct warden *w, struct ward *ward)
{
	if (ward->held || ward->visitors || w->draining || w->n_gone >= GONE_MAX)
		return false;
	queue_ended(w, ward);
	ward->state = WARD_GONE;
	unindex(w, ward);
	fd_close(&ward->client);
	if (w->last_gone)
		w->last_gone->gone_next = ward;
	else
		w->first_gone = ward;
	w->last_gone = ward;
	w->n_gone++;
	return true;
}

void ward_sweep_gone(struct warden *w)
{
	struct ward *ward = w->first_gone;
	struct live_end end = {0};

	if (!ward)
		return;
	w->first_gone = ward->gone_next;
	w->last_gone = w->first_gone ? w->last_gone : NULL;
	w->n_gone--;
	(void)live_remove(&ward->live, &end);
	stock_return(w, &ward->net);
	ward_free(w, ward);
}

/* Groups and mounts; then all who want to know are told. */
static void ward_remove(struct warden *w, struct ward *ward, struct live_end *end, bool told)
{
	bool ran = ward->state == WARD_RUNNING;

	(void)live_remove(&ward->live, end);
	stock_return(w, &ward->net);
	fd_close(&ward->mounts);
	fd_close(&ward->layers);
	ward->ended_ms = warden_now_ms();
	if (ran)
		visitors_tell(ward, &ward->pending);
	visitors_leave(w, ward);
	if (ran && job_is_own(ward) && !w->draining)
		ward_leave(w, ward);
	else if (told || w->draining)
		ward_free(w, ward);
	else
		ward_linger(w, ward);
}

void warden_tell(const struct warden *w, const struct ward *ward, struct warden_news *news)
{
	memcpy(news->sandbox, ward->spec.id, sizeof(news->sandbox));
	news->owner = ward->owner;
	news->drained = w->draining;
	if (ward->metadata)
		(void)snprintf(news->label, sizeof(news->label), "%s", ward->metadata);
	if (w->config->news)
		w->config->news(w->config->arg, news);
}

static void tell_record(const struct warden *w, const struct ward *ward)
{
	struct warden_news news = {.stop = ward->stop,
				   .began_ms = ward->made_ms,
				   .ended_ms = warden_now_ms(),
				   .alerts = ward->alerts};

	memcpy(news.imported, ward->imported, sizeof(news.imported));
	warden_tell(w, ward, &news);
}

/* Which of its packages were used, as the guest has it: letters and nothing else. */
static void take_seen(struct ward *ward, const struct control_event *ev)
{
	if (ev->msg.len <= WARDEN_IMPORTED_MAX && strspn(ev->name, MSG_SEEN_ALL) == ev->msg.len)
		memcpy(ward->imported, ev->name, ev->msg.len + 1);
}

void ward_end(struct warden *w, struct ward *ward)
{
	bool told = true;

	if (ward->state == WARD_LEFT) {
		ward_free(w, ward);
		return;
	}
	if (ward->state == WARD_GONE) {
		while (w->first_gone)
			ward_sweep_gone(w);
		return;
	}
	unwatch_all(w, ward);
	ward_guard_end(w, ward);
	struct live_end end = {.count = ward->state == WARD_RUNNING && !ward->told};
	bool gone = live_reap(&ward->live, &end);
	if (!gone || ward->held)
		fd_close(&ward->net); /* somebody may still be there, or have a socket of it */
	if (ward->state == WARD_RUNNING) {
		if (ward->told) {
			note_times(ward, &end.rusage); /* the queue learns from it (queue.c) */
		} else {
			note_end(ward, &end, gone);
			told = tell(ward, &ward->pending, NULL, 0);
		}
		jobs_over(w, ward);
		if (ward->held)
			tell_record(w, ward);
		w->ended_us = warden_now_us();
		if (told && ward_remove_later(w, ward))
			return;
	}
	ward_remove(w, ward, &end, told);
}

void ward_kill(struct ward *ward, enum link_stop why)
{
	if (ward->stop == LINK_STOP_NONE)
		ward->stop = why;
	sandbox_kill(&ward->live.sb);
	cgroup_kill(&ward->live.cgroup);
}

int ward_watch(struct warden *w, struct ward *ward, struct err *e)
{
	const int fds[SOURCE_WARD_KINDS] = {
		[SOURCE_CONTROL] = ward->live.sb.control,
		[SOURCE_GUEST] = ward->live.sb.pidfd,
		[SOURCE_CLIENT] = ward->client,
		[SOURCE_LISTENER] = FD_NONE,
		[SOURCE_OOM] = ward->oom,
		[SOURCE_GUARD] = FD_NONE,
	};
	int r = 0;

	for (int i = 0; i < SOURCE_WARD_KINDS && r >= 0; i++)
		if (fds[i] >= 0)
			r = warden_watch(w, fds[i], &ward->sources[i], e);
	return r;
}

uint64_t ward_oom_kills(const struct ward *ward)
{
	const struct cgroup_ops *ops = ward->live.cgroup.ops;

	return ops ? ops->oom_kills(&ward->live.cgroup) : ward->relieved;
}

uint64_t ward_pids_refused(const struct ward *ward)
{
	const struct cgroup_ops *ops = ward->live.cgroup.ops;

	return ops ? ops->pids_refused(&ward->live.cgroup) : 0;
}

bool ward_was_oom(const struct ward *ward, uint64_t before, int status)
{
	bool killed = WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL
					  : WEXITSTATUS(status) == 128 + SIGKILL;

	return killed && ward_oom_kills(ward) > before;
}

static void watch_memory(struct warden *w, struct ward *ward)
{
	struct err e = ERR_INIT;

	/* Of one that lives only who is too large dies, not the sandbox with its files. */
	if (ward->live.cgroup.ops && ward->held) {
		fd_close(&ward->oom);
		(void)ward->live.cgroup.ops->kill_singly(&ward->live.cgroup); /* or all do */
	} else if (ward->live.cgroup.ops && ward->oom < 0) {
		ward->oom = ward->live.cgroup.ops->watch_oom(&ward->live.cgroup);
	}
	if (ward->oom >= 0)
		(void)warden_watch(w, ward->oom, &ward->sources[SOURCE_OOM], &e);
	ward->polled = !ward->live.cgroup.ops || ward->spec.limits.cpu_time_ms;
	w->n_polled += ward->polled;
}

void ward_describe(const struct ward *ward, struct link_msg *msg)
{
	msg->started = (struct link_started){
		.group = ward->live.cgroup.ops != NULL,
		.volume = ward->spec.on_volume,
		.warm = ward->warm ? 1 + (ward->kind != KIND_PLAIN) : 0,
		.terminal = ward->terminal >= 0,
	};
	memcpy(&msg->started.limits, &ward->spec.limits, sizeof(msg->started.limits));
	(void)snprintf(msg->started.sandbox, sizeof(msg->started.sandbox), "%s", ward->spec.id);
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
	watch_memory(w, ward);
	job_started(w, ward, ev->msg.code, &ward->terminal);
	fd_close(&ward->terminal);
	ward_set_deadline(w, ward, warden_now_us() + ward->spec.limits.time_ms * 1000);
	ward->nursed = job_is_own(ward);
	(void)tell(ward, &msg, NULL, 0); /* the first: there is room */
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
	(void)tell(ward, &msg, fds, 2); /* the first: there is room */
	warden_unwatch(w, ward->live.sb.control);
	fd_close(&ward->live.sb.control);
	fd_close(&ward->terminal);
	watch_memory(w, ward);
	take_listener(ward, ev);
	watch_listener(w, ward);
}

int ward_hand_over(struct warden *w, struct ward *ward, const int stdio[3], struct err *e)
{
	struct link_msg msg = {.kind = LINK_STARTED};

	ward_describe(ward, &msg);
	msg.started.awaited = 1;
	watch_memory(w, ward);
	watch_listener(w, ward);
	warden_unwatch(w, ward->live.sb.control);
	int r = pool_begin(ward, stdio, e);
	if (r < 0)
		return r;
	ward->state = WARD_RUNNING;
	(void)tell(ward, &msg, &ward->live.sb.control, 1); /* the first: there is room */
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
		(void)tell(ward, &msg, NULL, 0); /* the first: there is room */
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

static void on_listener(struct warden *w, struct ward *ward, uint32_t events)
{
	struct notify_event ev = {0};
	int r = events & EPOLLIN ? notify_take(ward->listener, &ev) : -EPIPE;

	if (r > 0 && ev.guard)
		r = ward_guard_ask(w, ward, &ev);
	else if (r > 0 && ward_refused(w, ward, &ev) && notify_answer(ward->listener, &ev) < 0)
		r = -EPIPE;
	if (r < 0) {
		warden_unwatch(w, ward->listener);
		fd_close(&ward->listener);
	}
	if (!ev.what[0])
		return;
	struct link_msg *msg = &ward->pending;
	struct link_denial *d = &msg->denial;

	*msg = (struct link_msg){.kind = LINK_DENIAL,
				 .denial = {.network = ev.network, .port = ev.port}};

	(void)snprintf(d->what, sizeof(d->what), "%s", ev.what);
	(void)snprintf(d->hint, sizeof(d->hint), "%s", ev.hint ? ev.hint : "");
	(void)snprintf(d->host, sizeof(d->host), "%s", ev.network ? ev.host : "");
	if (ev.network && ward->spec.egress.n_ports)
		d->network = LINK_NETWORK_POLICY;
	/* Who made it knows its policy, and what the gate decides; who only has a command in it
	 * does not. */
	if (!notify_is_gated(&ward->spec.egress, &ev))
		visitors_tell(ward, msg);
	if (tell(ward, msg, NULL, 0))
		return;
	/* The next refused call waits until he reads. */
	warden_unwatch(w, ward->listener);
	await_reader(w, ward);
}

/* He reads again: what he could not be told before. */
static void on_reader(struct warden *w, struct ward *ward)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = &ward->sources[SOURCE_CLIENT]};
	struct err e = ERR_INIT;

	if (!tell(ward, &ward->pending, NULL, 0))
		return;
	if (ward->state == WARD_LEAVING) {
		ward_free(w, ward);
		return;
	}
	(void)epoll_ctl(w->epoll, EPOLL_CTL_MOD, ward->client, &ev); /* it is watched already */
	if (ward->listener >= 0)
		(void)warden_watch(w, ward->listener, &ward->sources[SOURCE_LISTENER], &e);
}

/* All but the guest were waited for, says the guest, and it is about to end: the caller need not
 * wait for that. The accounts are a group's, or what the guest has told him; reading them takes a
 * tenth of a short run, so not for who needs none. */
static void tell_early(struct warden *w, struct ward *ward, bool count)
{
	struct live_end end = {0};

	ward->asked = true;
	if (ward->state != WARD_RUNNING)
		return;
	if (count && ward->live.cgroup.ops) {
		ward->live.cgroup.ops->usage(&ward->live.cgroup, &end.usage);
		end.usage.cpu_us = cgroup_cpu_us(&ward->live.cgroup);
		if (!end.usage.cpu_us) {
			ward_kill(ward, LINK_STOP_NONE); /* it waits for who waits for its end */
			return;
		}
	}
	note_end(ward, &end, true);
	ward->told = tell(ward, &ward->pending, NULL, 0);
	w->ended_us = warden_now_us();
}

static void on_client(struct warden *w, struct ward *ward, uint32_t events)
{
	struct link_ask msg = {0};

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
	int r = passfd_receive(ward->client, &msg, sizeof(msg), NULL, 0, 0);
	if (r >= 0 && msg.op == LINK_TELL && !ward->held && !ward->asked) {
		tell_early(w, ward, msg.arg != LINK_QUIET);
		return;
	}
	warden_unwatch(w, ward->client);
	ward_kill(ward, LINK_STOP_NONE);
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
	case SOURCE_LOOK: assert(0);
	}
}

/* The kernel would kill one process at a time, too. */
static void relieve(struct ward *ward)
{
	if (!ward->held) {
		ward_kill(ward, LINK_STOP_MEMORY);
		return;
	}
	ward->relieving = !ward->relieving; /* what it had comes back before the next look */
	if (!ward->relieving)
		return;
	uint64_t pages = ward->spec.limits.memory_bytes / (uint64_t)sysconf(_SC_PAGESIZE);
	control_send(ward->live.sb.control, MSG_RELIEVE,
		     pages < INT32_MAX ? (int)pages : INT32_MAX);
	ward->relieved++;
}

/* True: nobody is inside but the guest. */
static bool poll_one(struct ward *ward)
{
	uint64_t cpu_max_us = ward->spec.limits.cpu_time_ms * 1000, cpu_us = 0;
	struct usage u = {0};

	if (ward->live.cgroup.ops) {
		struct cgroup_usage usage;

		ward->live.cgroup.ops->usage(&ward->live.cgroup, &usage);
		cpu_us = usage.cpu_us;
	} else {
		usage_of_tree(ward->live.sb.pid, ward->spec.limits.memory_bytes, &u);
		cpu_us = u.cpu_us;
		ward->memory_peak = u.memory > ward->memory_peak ? u.memory : ward->memory_peak;
		ward->pids_peak = u.pids > ward->pids_peak ? u.pids : ward->pids_peak;
		ward->pids_full = ward->pids_full || u.pids >= ward->spec.limits.pids;
		if (u.memory > ward->spec.limits.memory_bytes)
			relieve(ward);
		else
			ward->relieving = false;
	}
	if (cpu_max_us && cpu_us >= cpu_max_us)
		ward_kill(ward, LINK_STOP_CPU_TIME);
	return !ward->live.cgroup.ops && u.pids == 0;
}

void ward_rouse(struct warden *w, struct ward *ward)
{
	w->n_polled += ward->resting;
	ward->resting = false;
	ward->seen_empty = 0;
}

/* Nobody can get in but by us, so who found nobody inside for a while need not look again. */
static void rest(struct warden *w, struct ward *ward, bool empty)
{
	ward->seen_empty = empty && ward->held && !ward->visitors ? ward->seen_empty + 1 : 0;
	if (ward->seen_empty < EMPTY_POLLS)
		return;
	ward->resting = true;
	w->n_polled--;
}

void ward_poll(struct warden *w)
{
	for (struct ward *ward = w->wards; ward; ward = ward->next)
		if (ward->polled && !ward->resting && ward->state == WARD_RUNNING)
			rest(w, ward, poll_one(ward));
}

void ward_set_deadline(struct warden *w, struct ward *ward, uint64_t at_us)
{
	ward->deadline_us = at_us;
	if (!w->next_deadline_us || at_us < w->next_deadline_us)
		w->next_deadline_us = at_us;
}

void ward_ask_to_end(struct ward *ward)
{
	if (ward->paused)
		ward_kill(ward, LINK_STOP_CALLER); /* it would not hear */
	else
		control_send(ward->live.sb.control, MSG_SIGNAL, SIGTERM);
}

/* Its time is over: SIGTERM, after the grace SIGKILL to all. */
static void expire_one(struct warden *w, struct ward *ward)
{
	if (ward->state == WARD_LEFT) {
		ward_free(w, ward);
		return;
	}
	if (ward->stop == LINK_STOP_NONE)
		ward->stop = LINK_STOP_TIME;
	if (ward->warned || ward->paused || !ward->jobs) {
		ward->deadline_us = 0;
		ward_kill(ward, LINK_STOP_TIME);
		return;
	}
	ward->warned = true;
	control_send(ward->live.sb.control, MSG_SIGNAL, SIGTERM);
	ward->deadline_us = warden_now_us() + ward->spec.limits.grace_ms * 1000;
}

void ward_expire(struct warden *w)
{
	uint64_t now = warden_now_us(), soonest = 0;

	if (!w->next_deadline_us || now < w->next_deadline_us)
		return;
	for (struct ward *ward = w->wards, *next; ward; ward = next) {
		next = ward->next;
		if (ward->deadline_us && now >= ward->deadline_us)
			expire_one(w, ward);
	}
	for (struct ward *ward = w->wards; ward; ward = ward->next)
		if (ward->deadline_us && (!soonest || ward->deadline_us < soonest))
			soonest = ward->deadline_us;
	w->next_deadline_us = soonest;
}
