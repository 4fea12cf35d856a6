/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The warden's loop. Where we are: the process that `pinfold serve` became; root, or whoever
 * started it; open: the socket to front, one epoll set, and what belongs to each ward.
 *
 * One event a turn, because ending a ward frees what a second event of the same turn would point
 * to. Sandboxes that wait are made when nothing else is to do.
 */
#include "warden/warden.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "warden/caller.h"
#include "warden/job.h"
#include "warden/layered.h"
#include "warden/look.h"
#include "warden/op.h"
#include "warden/pool.h"
#include "warden/stock.h"
#include "warden/ward_int.h"
#include "warden/zygote.h"

#define POLL_US 20000u
#define DRAIN_LOOK_US 100000u
#define PAUSE_US 2000u
#define DRAIN_US 10000000u
#define FRONT_YOUNG_US 1000000u
#define FRONT_QUICK                                                                                \
	8u /* early deaths after which the next one waits a little, twice as long each time */
#define FRONT_WAIT_US 10000u
#define FRONT_WAIT_MAX_US 2000000u
#define MESSAGES_MAX 64 /* of front, in one turn */
#define EVENTS_MAX 64	/* while one could be run that waits */
#define JANITOR_S                                                                                  \
	DEMAND_FADE_S /* how long what a dead run of somebody without daemon left may stay */

uint64_t warden_now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts); /* cannot fail for this clock */
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

uint64_t warden_now_us(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail for this clock */
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

int warden_watch(struct warden *w, int fd, struct source *source, struct err *e)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = source};

	return epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &ev) < 0 ? err_sys(e, "epoll") : 0;
}

void warden_unwatch(const struct warden *w, int fd)
{
	if (fd >= 0)
		(void)epoll_ctl(w->epoll, EPOLL_CTL_DEL, fd, NULL); /* or it was not watched */
}

/* Nobody would wait for its end. */
static bool is_idle(const struct ward *ward)
{
	return ward_waits(ward) || ward->state == WARD_LEFT ||
	       (ward->held && ward->state == WARD_RUNNING && !ward->command[0]);
}

static void drain(struct warden *w)
{
	if (w->draining)
		return;
	w->draining = true;
	w->drain_until_us = warden_now_us() + DRAIN_US;
	w->config->stop_listening(w->config->arg);
	queue_end(w);
	callers_done(w);
	/* Front ends when its socket does: nobody is let in any more. */
	if (w->front >= 0)
		(void)epoll_ctl(w->epoll, EPOLL_CTL_DEL, w->front, NULL);
	fd_close(&w->front);
	/* All at once: each takes its time to come apart. */
	for (struct ward *ward = w->wards; ward; ward = ward->next)
		if (ward_waits(ward))
			sandbox_kill(&ward->live.sb);
	zygote_end(w);
	for (struct ward *ward = w->wards, *next; ward; ward = next) {
		next = ward->next;
		if (is_idle(ward))
			ward_end(w, ward);
		else if (ward->held)
			ward_ask_to_end(ward);
	}
}

static int start_front(struct warden *w, struct err *e);

/* One that cannot live must not keep us busy with starting it. */
static uint64_t front_wait_us(struct warden *w)
{
	bool young = warden_now_us() - w->front_since_us < FRONT_YOUNG_US;
	uint64_t us = FRONT_WAIT_US;

	w->front_deaths = young ? w->front_deaths + 1 : 0;
	if (w->front_deaths <= FRONT_QUICK)
		return 0;
	for (unsigned i = FRONT_QUICK + 1; i < w->front_deaths && us < FRONT_WAIT_MAX_US; i++)
		us *= 2;
	return us < FRONT_WAIT_MAX_US ? us : FRONT_WAIT_MAX_US;
}

/* When it is time. Whoever asks meanwhile waits in the listening socket. */
static void renew_front(struct warden *w)
{
	struct err e = ERR_INIT;

	if (!w->front_due_us || w->draining || warden_now_us() < w->front_due_us)
		return;
	w->front_due_us = 0;
	if (start_front(w, &e) < 0) {
		(void)fprintf(stderr, "pinfold: ending: %s\n", e.text);
		drain(w);
	}
}

/* One message of front's; false: there is none. */
static bool take_message(struct warden *w, int *ret)
{
	struct link_ask msg;
	int fds[1 + LINK_FDS_MAX];
	int n = passfd_receive(w->front, &msg, sizeof(msg), fds, 1 + LINK_FDS_MAX,
			       MSG_DONTWAIT | PASSFD_ANYBODYS);

	if (n >= 1 && msg.magic == LINK_MAGIC && msg.version == LINK_VERSION)
		op_handle(w, &msg, fds);
	for (unsigned i = 0; n >= 0 && i < 1 + LINK_FDS_MAX; i++)
		fd_close(&fds[i]);
	*ret = n;
	return n >= 0 || n == -EPROTO || n == -EBADMSG;
}

/* All that is there, up to some: what has to wait does so in the queue, not in the socket, where
 * nobody counts and nobody is fair. */
static void on_front(struct warden *w)
{
	int last = 0;

	for (int i = 0; i < MESSAGES_MAX && take_message(w, &last); i++)
		;
	if (last != -EPIPE)
		return;
	/* Front is gone; sandboxes go on without it. */
	(void)epoll_ctl(w->epoll, EPOLL_CTL_DEL, w->front, NULL);
	fd_close(&w->front);
	if (w->draining)
		return;
	w->front_due_us = warden_now_us() + front_wait_us(w);
	renew_front(w);
}

/* What waits was made with what was true then: /etc, control groups. */
static void renew(struct warden *w)
{
	zygote_end(w);
	w->zygote.failures = 0; /* it may try again */
	layered_renew(w);
	for (struct ward *ward = w->wards, *next; ward; ward = next) {
		next = ward->next;
		if (ward->state == WARD_READY)
			ward_end(w, ward);
	}
	if (w->config->renewed)
		w->config->renewed(w->config->renewed_arg);
}

static void on_signal(struct warden *w)
{
	struct signalfd_siginfo info;

	if (read(w->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT)
		drain(w);
	else if (info.ssi_signo == SIGHUP)
		renew(w);
}

static void on_timer(struct warden *w)
{
	uint64_t ticks;

	(void)!read(w->timer, &ticks, sizeof(ticks)); /* only to make it quiet */
	ward_poll(w);
	jobs_relent(w);
	ward_expire(w);
	renew_front(w);
}

static void sweep(void)
{
	struct live nothing;

	live_init(&nothing);
	live_sweep(&nothing);
}

static void on_janitor(struct warden *w)
{
	uint64_t ticks;

	(void)!read(w->janitor, &ticks, sizeof(ticks)); /* only to make it quiet */
	sweep();
	queue_expire(w);
	pool_tick(w);
	zygote_check(w);
}

/* The soonest of: limits to look after, a deadline, the end of a drain. */
static void arm_timer(struct warden *w)
{
	uint64_t now = warden_now_us(), us = w->next_deadline_us;
	struct itimerspec spec = {0};

	if (w->front_due_us && (!us || w->front_due_us < us))
		us = w->front_due_us;
	if (us)
		us = us > now ? us - now : 1;
	if ((w->n_polled || w->n_throttled) && (!us || us > POLL_US))
		us = POLL_US;
	if (w->draining && (!us || us > DRAIN_LOOK_US))
		us = DRAIN_LOOK_US;
	if (!us && !w->timer_armed)
		return;
	w->timer_armed = us != 0;
	spec.it_value = (struct timespec){.tv_sec = (time_t)(us / 1000000),
					  .tv_nsec = (long)(us % 1000000) * 1000};
	(void)timerfd_settime(w->timer, 0, &spec, NULL); /* valid by construction */
}

static void on_event(struct warden *w, const struct source *source, uint32_t events)
{
	if (source->kind == SOURCE_FRONT)
		on_front(w);
	else if (source->kind == SOURCE_SIGNAL)
		on_signal(w);
	else if (source->kind == SOURCE_TIMER)
		on_timer(w);
	else if (source->kind == SOURCE_JANITOR)
		on_janitor(w);
	else if (source->kind == SOURCE_PRESSURE)
		pool_stalled(w, source);
	else if (source->kind == SOURCE_QUEUED)
		queue_event(w, source);
	else if (source->kind == SOURCE_ZYGOTE)
		zygote_event(w);
	else if (source->kind == SOURCE_LOOK)
		look_event(w);
	else if (source->kind == SOURCE_CALLER)
		caller_event(w, source);
	else
		ward_event(w, source, events);
	arm_timer(w);
}

/* How long nothing may happen before something is done that nobody waits for; -1: for ever. Right
 * after a run has ended, its caller needs the processor more than we do. */
static int patience_ms(const struct warden *w)
{
	int pool = w->first_gone ? 0 : pool_patience_ms(w);
	bool just_ended = warden_now_us() - w->ended_us < PAUSE_US;

	return pool == 0 && just_ended ? (int)(PAUSE_US / 1000) : pool;
}

/* Events first: who runs is not kept waiting by who does not yet, and front's messages are where
 * they are counted. But a flood of them stops nobody for long. */
static void turn(struct warden *w)
{
	struct epoll_event ev;
	bool serving = queue_can_serve(w);
	int idle_ms = patience_ms(w), queue_ms = queue_patience_ms(w);
	int n = epoll_wait(w->epoll, &ev, 1, serving ? 0 : queue_ms >= 0 ? queue_ms : idle_ms);

	if (n > 0)
		on_event(w, ev.data.ptr, ev.events);
	else if (n == 0 && !serving && w->first_gone)
		ward_sweep_gone(w);
	else if (n == 0 && !serving && idle_ms >= 0)
		pool_refill(w);
	queue_tend(w);
	if (!serving || (n > 0 && ++w->events < EVENTS_MAX))
		return;
	w->events = 0;
	queue_serve(w);
}

static int start_front(struct warden *w, struct err *e)
{
	pid_t pid = w->config->start_front(w->config->arg, &w->front);

	if (pid < 0)
		return err_sys(e, "start front");
	w->front_since_us = warden_now_us();
	w->own[0] = (struct source){SOURCE_FRONT, NULL, NULL};
	return warden_watch(w, w->front, &w->own[0], e);
}

static int make_own(struct warden *w, struct err *e)
{
	struct itimerspec often = {{.tv_sec = JANITOR_S}, {.tv_sec = JANITOR_S}};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	w->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	w->janitor = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	w->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (w->epoll < 0 || w->timer < 0 || w->janitor < 0 || w->signals < 0 ||
	    timerfd_settime(w->janitor, 0, &often, NULL) < 0 ||
	    sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_sys(e, "event loop");
	w->own[1] = (struct source){SOURCE_SIGNAL, NULL, NULL};
	w->own[2] = (struct source){SOURCE_TIMER, NULL, NULL};
	w->own[3] = (struct source){SOURCE_JANITOR, NULL, NULL};
	int r = warden_watch(w, w->signals, &w->own[1], e);
	if (r >= 0)
		r = warden_watch(w, w->timer, &w->own[2], e);
	return r < 0 ? r : warden_watch(w, w->janitor, &w->own[3], e);
}

int warden_serve(const struct warden_config *config, struct err *e)
{
	struct warden w = {.config = config, .front = FD_NONE};

	look_init(&w);
	cgroup_become_leaf();
	cgroup_detect(&w.cgroups);
	sweep();
	int r = make_own(&w, e);
	if (r >= 0) {
		stock_init(&w);
		pool_init(&w);
		queue_init(&w);
	}
	if (r >= 0)
		r = start_front(&w, e);
	if (r < 0)
		return r;
	config->ready(config->arg);
	while (!w.draining || (w.n_wards > 0 && warden_now_us() < w.drain_until_us))
		turn(&w);
	while (w.wards)
		ward_end(&w, w.wards);
	callers_done(&w);
	look_done(&w);
	pool_done(&w);
	stock_done(&w);
	zygote_end(&w);
	layered_done(&w);
	fd_close(&w.front);
	fd_close(&w.epoll);
	fd_close(&w.timer);
	fd_close(&w.janitor);
	fd_close(&w.signals);
	return 0;
}
