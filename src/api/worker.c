/* SPDX-License-Identifier: Apache-2.0 */
#include "api/worker.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define STACK_BYTES (512u << 10)
#define IDLE_SECONDS 20
#define QUEUE_MAX 1024u /* that wait for a thread */

struct workers {
	pthread_mutex_t lock;
	pthread_cond_t work, gone;
	pthread_attr_t attr;
	/* under lock */
	unsigned max, threads, idle, queued;
	bool stop;
	struct task *first, **end;
};

int workers_new(unsigned max, struct workers **ret, struct err *e)
{
	struct workers *w = calloc(1, sizeof(*w));
	pthread_condattr_t clock;

	if (!w)
		return err_sys(e, "workers");
	w->max = max;
	w->end = &w->first;
	(void)pthread_mutex_init(&w->lock, NULL);
	(void)pthread_condattr_init(&clock);
	(void)pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&w->work, &clock);
	(void)pthread_cond_init(&w->gone, NULL);
	(void)pthread_attr_init(&w->attr);
	(void)pthread_attr_setstacksize(&w->attr, STACK_BYTES);
	(void)pthread_attr_setdetachstate(&w->attr, PTHREAD_CREATE_DETACHED);
	*ret = w;
	return 0;
}

/* With the lock. NULL: nothing came for a while, or it is over. */
static struct task *wait_for_task(struct workers *w)
{
	struct timespec until;
	int r = 0;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += IDLE_SECONDS;
	w->idle++;
	while (!w->first && !w->stop && r == 0)
		r = pthread_cond_timedwait(&w->work, &w->lock, &until);
	w->idle--;
	struct task *t = w->first;
	if (t) {
		w->first = t->next;
		w->end = w->first ? w->end : &w->first;
		w->queued--;
	}
	return t;
}

static void *thread(void *arg)
{
	struct workers *w = arg;
	struct task *t;

	(void)pthread_mutex_lock(&w->lock);
	while ((t = wait_for_task(w))) {
		(void)pthread_mutex_unlock(&w->lock);
		t->run(t);
		(void)pthread_mutex_lock(&w->lock);
	}
	w->threads--;
	(void)pthread_cond_signal(&w->gone);
	(void)pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* With the lock. Signals are the loop's thread's. */
static bool add_thread(struct workers *w)
{
	sigset_t all, old;
	pthread_t id;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	bool made = pthread_create(&id, &w->attr, thread, w) == 0;
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	w->threads += made;
	return made;
}

int workers_run(struct workers *w, struct task *t)
{
	int r = 0;

	t->next = NULL;
	(void)pthread_mutex_lock(&w->lock);
	bool more = w->queued >= w->idle && w->threads < w->max && add_thread(w);
	if (!more && w->queued >= w->idle && (!w->threads || w->queued >= QUEUE_MAX)) {
		r = -EAGAIN;
	} else {
		*w->end = t;
		w->end = &t->next;
		w->queued++;
		(void)pthread_cond_signal(&w->work);
	}
	(void)pthread_mutex_unlock(&w->lock);
	return r;
}

unsigned workers_busy(struct workers *w)
{
	(void)pthread_mutex_lock(&w->lock);
	unsigned n = w->threads - w->idle;
	(void)pthread_mutex_unlock(&w->lock);
	return n;
}

void workers_free(struct workers *w)
{
	if (!w)
		return;
	(void)pthread_mutex_lock(&w->lock);
	w->stop = true;
	(void)pthread_cond_broadcast(&w->work);
	while (w->threads)
		(void)pthread_cond_wait(&w->gone, &w->lock);
	(void)pthread_mutex_unlock(&w->lock);
	(void)pthread_cond_destroy(&w->work);
	(void)pthread_cond_destroy(&w->gone);
	(void)pthread_mutex_destroy(&w->lock);
	(void)pthread_attr_destroy(&w->attr);
	free(w);
}
