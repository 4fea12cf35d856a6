/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that looks at what lives: counts its processor time, forgets what has ended, takes up
 * what was there before us, and ends all of a tenant whose time or budget is used up.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/boxes.h"
#include "api/quota_int.h"
#include "base/fd.h"
#include "pinfold/pinfold.h"

#define LOOK_S 1
#define LOOK_SELDOM_S 10 /* nobody has a quota: for /metrics and /v1/usage alone */
#define ENDED_AT_ONCE 64

static const struct pinfold_sandbox_info *find_info(const struct pinfold_sandbox_info *list,
						    size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (!list[i].ended_ms && strcmp(list[i].id, id) == 0)
			return &list[i];
	return NULL;
}

/* Somebody is about to say which sandbox is his: it may be any that we do not know. */
static bool has_pending(const struct quotas *q, const char *tenant)
{
	for (const struct lease *l = q->leases; l; l = l->next)
		if (!l->sandbox[0] && strcmp(l->use->name, tenant) == 0)
			return true;
	return false;
}

static bool is_known(const struct quotas *q, const char *id)
{
	for (const struct lease *l = q->leases; l; l = l->next)
		if (strcmp(l->sandbox, id) == 0)
			return true;
	return false;
}

/* Made by who served before us. What it used up to now was counted by him. */
static void take_up(struct quotas *q, const struct pinfold_sandbox_info *info)
{
	const char *tenant = sandbox_tenant(info);

	if (!*tenant || info->ended_ms || is_known(q, info->id) || has_pending(q, tenant))
		return;
	struct use *u = use_find(q, tenant, true);
	struct lease *l = u ? lease_add(q, u, info->memory_limit, info->disk_limit) : NULL;
	if (!l)
		return;
	memcpy(l->sandbox, info->id, sizeof(l->sandbox));
	l->box = true;
	l->cpu_ms = info->cpu_ms == UINT64_MAX ? 0 : info->cpu_ms;
}

/* It is looked after as one that lives by itself: whoever began it hears of its end. */
void quota_adopt(struct quotas *q, const char *tenant, const char *sandbox)
{
	if (!q)
		return;
	(void)pthread_mutex_lock(&q->lock);
	struct use *u = is_known(q, sandbox) ? NULL : use_find(q, tenant, true);
	struct lease *l = u ? lease_add(q, u, 0, 0) : NULL; /* limits: with the next look */
	if (l) {
		(void)snprintf(l->sandbox, sizeof(l->sandbox), "%s", sandbox);
		l->box = true;
	}
	(void)pthread_mutex_unlock(&q->lock);
}

/* The file has ids and no more. */
static void know_limits(struct lease *l, const struct pinfold_sandbox_info *info)
{
	l->use->memory += info->memory_limit - l->memory;
	l->use->disk += info->disk_limit - l->disk;
	l->memory = info->memory_limit;
	l->disk = info->disk_limit;
}

void quota_compare(struct quotas *q, const struct pinfold_sandbox_info *list, size_t n, uint64_t at)
{
	for (struct lease *l = q->leases, *next; l; l = next) {
		const struct pinfold_sandbox_info *info = find_info(list, n, l->sandbox);

		next = l->next;
		if (info && l->box)
			know_limits(l, info);
		if (info)
			lease_count(q, l, info->cpu_ms == UINT64_MAX ? 0 : info->cpu_ms);
		else if (l->box && l->since_ms < at)
			lease_unlink(q, l);
	}
	for (size_t i = 0; i < n; i++)
		take_up(q, &list[i]);
}

void quota_look(struct quotas *q)
{
	struct pinfold_sandbox_info *list = NULL;
	struct pinfold_error ignored; /* the daemon is about to begin again: nothing of ours lives */
	size_t n = 0;

	(void)pthread_mutex_lock(&q->looking);
	uint64_t at = q->now_ms();
	if (pinfold_sandbox_list(&list, &n, &ignored) == 0) {
		(void)pthread_mutex_lock(&q->lock);
		quota_compare(q, list, n, at);
		(void)pthread_mutex_unlock(&q->lock);
		pinfold_sandbox_list_free(list);
	}
	(void)pthread_mutex_unlock(&q->looking);
}

void quota_box_ends(struct quotas *q, const char *id)
{
	auto_free struct pinfold_sandbox_info *info = q ? malloc(sizeof(*info)) : NULL;
	struct pinfold_error ignored; /* it has ended already */

	if (!info || pinfold_sandbox_get(id, info, &ignored) < 0)
		return;
	(void)pthread_mutex_lock(&q->lock);
	for (struct lease *l = q->leases; l; l = l->next)
		if (strcmp(l->sandbox, id) == 0 && info->cpu_ms != UINT64_MAX)
			lease_count(q, l, info->cpu_ms);
	(void)pthread_mutex_unlock(&q->lock);
}

/* With the lock: runs are told to end, ids of sandboxes that are to be ended are collected. */
static size_t stop_over(struct quotas *q, char ids[ENDED_AT_ONCE][32])
{
	size_t n = 0;

	for (struct lease *l = q->leases; l; l = l->next) {
		struct err ignored = ERR_INIT; /* who cannot be looked up is not ended */
		struct tenant limits;
		uint64_t one = 1, wait = 0;

		if (tenants_find(q->tenants, l->use->name, &limits, &ignored) < 0 ||
		    use_over(q, l->use, &limits, &wait) == QUOTAS)
			continue;
		if (l->cancel_fd >= 0) {
			(void)!write(l->cancel_fd, &one, sizeof(one)); /* full: it was already */
			l->cancel_fd = FD_NONE;
			l->use->stopped++;
		} else if (l->box && n < ENDED_AT_ONCE) {
			memcpy(ids[n++], l->sandbox, 32);
			l->use->stopped++;
		}
	}
	return n;
}

static void end_over(struct quotas *q)
{
	char ids[ENDED_AT_ONCE][32];
	struct pinfold_error ignored; /* it has ended already, or is tried again in a second */

	(void)pthread_mutex_lock(&q->lock);
	size_t n = stop_over(q, ids);
	(void)pthread_mutex_unlock(&q->lock);
	for (size_t i = 0; i < n; i++)
		(void)pinfold_sandbox_destroy(ids[i], &ignored);
	if (n)
		quota_look(q);
}

/* With the lock. False: it is over. */
static bool wait_a_while(struct quotas *q)
{
	struct timespec until;
	int r = 0;

	q->idle = true;
	while (!q->stop && !q->leases && !q->dirty)
		(void)pthread_cond_wait(&q->more, &q->lock);
	q->idle = false;
	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += tenants_any(q->tenants) || q->dirty ? LOOK_S : LOOK_SELDOM_S;
	while (!q->stop && r == 0)
		r = pthread_cond_timedwait(&q->more, &q->lock, &until);
	return !q->stop;
}

static void *watch(void *arg)
{
	struct quotas *q = arg;

	quota_look(q); /* what lives from before */
	(void)pthread_mutex_lock(&q->lock);
	while (wait_a_while(q)) {
		bool some = q->leases;
		bool dirty = q->dirty;

		(void)pthread_mutex_unlock(&q->lock);
		if (some) {
			quota_look(q);
			end_over(q);
			purses_look(q);
		}
		if (some || dirty)
			(void)quota_save(q); /* the next time it is tried again */
		(void)pthread_mutex_lock(&q->lock);
	}
	(void)pthread_mutex_unlock(&q->lock);
	return NULL;
}

int quotas_watch(struct quotas *q, struct err *e)
{
	sigset_t all, old;

	(void)sigfillset(&all); /* signals are the loop's */
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	errno = pthread_create(&q->thread, NULL, watch, q);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	q->has_thread = errno == 0;
	return q->has_thread ? 0 : err_sys(e, "thread");
}
