/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers are in one list in the order of their moments: nearly all are set for the same time from
 * now, so the place of a new one is found at once from the end.
 */
#include "api/loop.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>

#include "base/fd.h"

#define BATCH 64

struct loop {
	int epoll, wake;
	bool stop;
	struct epoll_event batch[BATCH];
	int n_batch, at_batch;
	struct timer *first, *last;
	pthread_mutex_t lock;
	struct task *tasks, **tasks_end; /* under lock */
};

uint64_t loop_now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail */
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

int loop_new(struct loop **ret, struct err *e)
{
	struct loop *l = calloc(1, sizeof(*l));

	if (!l)
		return err_sys(e, "loop");
	l->tasks_end = &l->tasks;
	(void)pthread_mutex_init(&l->lock, NULL); /* cannot fail with NULL */
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = NULL};
	if (l->epoll < 0 || l->wake < 0 || epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->wake, &ev) < 0) {
		int r = err_sys(e, "epoll");

		loop_free(l);
		return r;
	}
	*ret = l;
	return 0;
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	fd_close(&l->epoll);
	fd_close(&l->wake);
	(void)pthread_mutex_destroy(&l->lock);
	free(l);
}

void loop_stop(struct loop *l)
{
	l->stop = true;
}

void watch_init(struct watch *w, struct loop *l, int fd, void (*ready)(struct watch *, uint32_t))
{
	*w = (struct watch){.fd = fd, .ready = ready, .loop = l};
}

int watch_set(struct watch *w, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = w};
	int op = !w->events ? EPOLL_CTL_ADD : events ? EPOLL_CTL_MOD : EPOLL_CTL_DEL;

	if (w->events == events)
		return 0;
	if (epoll_ctl(w->loop->epoll, op, w->fd, &ev) < 0)
		return -errno;
	w->events = events;
	return 0;
}

void watch_done(struct watch *w)
{
	struct loop *l = w->loop;

	if (!l)
		return;
	(void)watch_set(w, 0); /* closed descriptors leave by themselves */
	for (int i = l->at_batch; i < l->n_batch; i++)
		if (l->batch[i].data.ptr == w)
			l->batch[i].events = 0;
	w->loop = NULL;
}

static void unlink_timer(struct loop *l, struct timer *t)
{
	*(t->prev ? &t->prev->next : &l->first) = t->next;
	*(t->next ? &t->next->prev : &l->last) = t->prev;
	t->prev = t->next = NULL;
	t->at_ms = 0;
}

void timer_set(struct loop *l, struct timer *t, uint64_t at_ms)
{
	if (t->at_ms)
		unlink_timer(l, t);
	if (!at_ms)
		return;
	struct timer *before = l->last;
	while (before && before->at_ms > at_ms)
		before = before->prev;
	t->at_ms = at_ms;
	t->prev = before;
	t->next = before ? before->next : l->first;
	*(t->prev ? &t->prev->next : &l->first) = t;
	*(t->next ? &t->next->prev : &l->last) = t;
}

static void fire_timers(struct loop *l)
{
	uint64_t now = loop_now_ms();

	while (l->first && l->first->at_ms <= now) {
		struct timer *t = l->first;

		unlink_timer(l, t);
		t->fire(t);
	}
}

void loop_post(struct loop *l, struct task *t)
{
	uint64_t one = 1;

	t->next = NULL;
	(void)pthread_mutex_lock(&l->lock);
	bool first = !l->tasks;
	*l->tasks_end = t;
	l->tasks_end = &t->next;
	(void)pthread_mutex_unlock(&l->lock);
	if (first && write(l->wake, &one, sizeof(one)) < 0)
		assert(errno == EAGAIN); /* it is awake then */
}

static void run_tasks(struct loop *l)
{
	uint64_t n;

	(void)!read(l->wake, &n, sizeof(n)); /* or nobody woke us */
	(void)pthread_mutex_lock(&l->lock);
	struct task *list = l->tasks;
	l->tasks = NULL;
	l->tasks_end = &l->tasks;
	(void)pthread_mutex_unlock(&l->lock);
	while (list) {
		struct task *t = list;

		list = t->next;
		t->run(t);
	}
}

static int until_timer(const struct loop *l)
{
	uint64_t now = loop_now_ms();

	if (!l->first)
		return -1;
	if (l->first->at_ms <= now)
		return 0;
	uint64_t ms = l->first->at_ms - now;
	return ms > 60000 ? 60000 : (int)ms;
}

int loop_run(struct loop *l, struct err *e)
{
	while (!l->stop) {
		l->n_batch = epoll_wait(l->epoll, l->batch, BATCH, until_timer(l));
		if (l->n_batch < 0 && errno != EINTR)
			return err_sys(e, "epoll_wait");
		for (l->at_batch = 0; l->at_batch < l->n_batch;) {
			struct epoll_event *ev = &l->batch[l->at_batch++];
			struct watch *w = ev->data.ptr;

			if (!w)
				run_tasks(l);
			else if (ev->events)
				w->ready(w, ev->events);
		}
		fire_timers(l);
	}
	return 0;
}
