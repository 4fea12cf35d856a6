/* SPDX-License-Identifier: Apache-2.0 */
#include "api/quota.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/loop.h"
#include "api/options.h"
#include "api/quota_int.h"
#include "base/fd.h"
#include "base/hold.h"

#define WAIT_MS 1000u /* for room: somebody may have ended by then */
#define END_S 2	      /* for the thread that watches */

const char *quota_name(enum quota q)
{
	static const char *const names[QUOTAS] = {
		[QUOTA_LIVE] = "live",
		[QUOTA_RUNS] = "runs_per_minute",
		[QUOTA_MEMORY] = "memory",
		[QUOTA_DISK] = "disk",
		[QUOTA_CPU] = "cpu_seconds",
		[QUOTA_BUDGET] = "budget",
		[QUOTA_EGRESS + PINFOLD_PURSE_BYTES] = "egress_bytes",
		[QUOTA_EGRESS + PINFOLD_PURSE_CONNECTIONS] = "egress_connections",
		[QUOTA_EGRESS + PINFOLD_PURSE_REQUESTS] = "egress_requests",
	};

	return q < QUOTAS ? names[q] : "";
}

static uint64_t wall_s(void)
{
	return (uint64_t)time(NULL);
}

int quotas_new(int dir, int state, struct quotas **ret, struct err *e)
{
	struct quotas *q = calloc(1, sizeof(*q));
	pthread_condattr_t clock;

	if (!q)
		return err_sys(e, "quotas");
	q->state = state;
	q->wall_s = wall_s;
	q->now_ms = loop_now_ms;
	(void)pthread_mutex_init(&q->lock, NULL);
	(void)pthread_mutex_init(&q->looking, NULL);
	(void)pthread_condattr_init(&clock);
	(void)pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&q->more, &clock);
	int r = tenants_new(dir, &q->tenants, e);
	if (r >= 0)
		r = quota_load(q, e);
	if (r < 0)
		quotas_free(q);
	else
		*ret = q;
	return r;
}

/* It may be waiting for a daemon that ends, too, and will not answer: systemd's socket takes a
 * connection though nobody is there. Then it is left behind, with all that it looks at. */
static bool end_thread(struct quotas *q)
{
	struct timespec until;

	(void)pthread_mutex_lock(&q->lock);
	q->stop = true;
	(void)pthread_cond_broadcast(&q->more);
	(void)pthread_mutex_unlock(&q->lock);
	if (!q->has_thread)
		return true;
	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += END_S;
	q->has_thread = pthread_timedjoin_np(q->thread, NULL, &until) != 0;
	return !q->has_thread;
}

void quotas_yield(struct quotas *q)
{
	if (!q || q->yielded)
		return;
	(void)end_thread(q);
	(void)quota_save(q); /* nobody is left to be told */
	q->yielded = true;
}

void quotas_free(struct quotas *q)
{
	if (!q)
		return;
	bool ended = end_thread(q);
	if (q->dirty && !q->yielded)
		(void)quota_save(q); /* nobody is left to be told */
	if (!ended)
		return;
	while (q->leases)
		lease_unlink(q, q->leases);
	while (q->users) {
		struct use *u = q->users;

		q->users = u->next;
		free(u);
	}
	tenants_free(q->tenants);
	(void)pthread_cond_destroy(&q->more);
	(void)pthread_mutex_destroy(&q->looking);
	(void)pthread_mutex_destroy(&q->lock);
	free(q);
}

/* One that has nothing to remember makes room for another. */
static void drop_one(struct quotas *q)
{
	for (struct use **at = &q->users; *at; at = &(*at)->next) {
		struct use *u = *at;

		if (u->live || u->cpu_ms || u->units > 0 || u->egress[0].since_s ||
		    u->egress[1].since_s || u->egress[2].since_s ||
		    u->runs_at_s + WINDOW_S > q->now_ms() / 1000)
			continue;
		*at = u->next;
		free(u);
		q->n_users--;
		return;
	}
}

struct use *use_find(struct quotas *q, const char *tenant, bool make)
{
	struct use *u = q->users;

	while (u && strcmp(u->name, tenant) != 0)
		u = u->next;
	if (u || !make)
		return u;
	if (q->n_users >= USERS_MAX)
		drop_one(q);
	u = q->n_users < USERS_MAX ? calloc(1, sizeof(*u)) : NULL;
	if (!u)
		return NULL;
	(void)snprintf(u->name, sizeof(u->name), "%s", tenant);
	u->next = q->users;
	q->users = u;
	q->n_users++;
	return u;
}

/*
 * A new period begins with nothing used. A clock that was set back must give nobody his period anew
 * when it comes there for the second time; one that was wrong by more than a period must not hold
 * the count for ever. True: it is a new one.
 */
bool quota_turn(uint64_t now_s, uint64_t period_s, uint64_t *since_s)
{
	uint64_t start = now_s - now_s % period_s;
	bool is_new = start > *since_s;

	if (is_new || *since_s > now_s + period_s)
		*since_s = start;
	return is_new;
}

enum quota use_over(struct quotas *q, struct use *u, const struct tenant *limits,
		    uint64_t *ret_wait_s)
{
	uint64_t now = q->wall_s();

	if (limits->cpu_s && quota_turn(now, limits->cpu_period_s, &u->cpu_since_s))
		u->cpu_ms = 0;
	if (limits->budget && quota_turn(now, limits->budget_period_s, &u->units_since_s))
		u->units = 0;
	if (limits->cpu_s && u->cpu_ms >= limits->cpu_s * 1000) {
		*ret_wait_s = u->cpu_since_s + limits->cpu_period_s - now;
		return QUOTA_CPU;
	}
	if (limits->budget && u->units >= (double)limits->budget) {
		*ret_wait_s = u->units_since_s + limits->budget_period_s - now;
		return QUOTA_BUDGET;
	}
	return QUOTAS;
}

/* With the lock: what holds for him, and his account. */
static struct use *find(struct quotas *q, const char *tenant, struct tenant *limits, struct err *e)
{
	if (tenants_find(q->tenants, tenant, limits, e) < 0)
		return NULL;
	struct use *u = use_find(q, tenant, true);
	if (!u)
		(void)err_set(e, ERR_BUSY, "too many tenants at once");
	return u;
}

static int explain(const struct use *u, enum quota which, uint64_t n, struct err *e)
{
	unsigned long long limit = n;

	if (which >= QUOTA_EGRESS && which < QUOTAS)
		return err_set(e, ERR_LIMIT, "%s has used up its %s of %llu in this period",
			       u->name, quota_name(which), limit);
	switch (which) {
	case QUOTA_LIVE:
		return err_set(e, ERR_LIMIT, "%s has %llu sandboxes and runs, which is its quota",
			       u->name, limit);
	case QUOTA_RUNS:
		return err_set(e, ERR_LIMIT,
			       "%s has started %llu in the last minute, which is its quota",
			       u->name, limit);
	case QUOTA_MEMORY:
	case QUOTA_DISK:
		return err_set(e, ERR_LIMIT,
			       "with this one, the %s limits of %s's sandboxes would be more than "
			       "its quota of %llu bytes",
			       quota_name(which), u->name, limit);
	case QUOTA_CPU:
		return err_set(e, ERR_LIMIT,
			       "%s has used up its %llu seconds of processor time in this period",
			       u->name, limit);
	case QUOTA_BUDGET:
		return err_set(e, ERR_LIMIT,
			       "%s has used up its budget of %llu units in this period", u->name,
			       limit);
	case QUOTA_EGRESS:
	case QUOTAS: break;
	}
	return err_set(e, ERR_INTERNAL, "no such quota");
}

int quota_refuse(const struct use *u, enum quota which, uint64_t limit, uint64_t retry_ms,
		 struct err *e)
{
	if (!HOLD_API_QUOTA)
		return 0;
	(void)explain(u, which, limit, e);
	(void)err_detail(e, quota_name(which));
	e->retry_ms = retry_ms > UINT32_MAX ? UINT32_MAX : (unsigned)retry_ms;
	if (which == QUOTA_MEMORY || which == QUOTA_DISK)
		return err_remedy(e, "ask for less, or end a sandbox");
	if (which == QUOTA_LIVE)
		return err_remedy(e, "end a sandbox, or try again when one has ended");
	return err_remedy(e, "try again in %llu seconds, or ask whoever runs the daemon for more",
			  (unsigned long long)(retry_ms + 999) / 1000);
}

static int refuse_over(struct quotas *q, struct use *u, const struct tenant *limits, struct err *e)
{
	uint64_t wait_s = 0;
	enum quota over = use_over(q, u, limits, &wait_s);

	return over == QUOTAS
		       ? 0
		       : quota_refuse(u, over, over == QUOTA_CPU ? limits->cpu_s : limits->budget,
				      wait_s * 1000, e);
}

void count_refusal(struct use *u, const struct err *e)
{
	for (enum quota i = 0; i < QUOTAS; i++)
		u->refused[i] += strcmp(e->detail, quota_name(i)) == 0;
}

/* The last minute, by second; what is older is forgotten. */
static uint64_t roll_minute(struct quotas *q, struct use *u)
{
	uint64_t now = q->now_ms() / 1000, sum = 0;

	for (uint64_t s = u->runs_at_s + 1; s <= now && s <= u->runs_at_s + WINDOW_S; s++)
		u->runs[s % WINDOW_S] = 0;
	u->runs_at_s = now;
	for (unsigned i = 0; i < WINDOW_S; i++)
		sum += u->runs[i];
	return sum;
}

/* Until the oldest second of the window that has one is out of it. */
static uint64_t minute_wait_ms(const struct quotas *q, const struct use *u)
{
	for (uint64_t age = WINDOW_S - 1; age > 0; age--)
		if (u->runs_at_s >= age && u->runs[(u->runs_at_s - age) % WINDOW_S])
			return (u->runs_at_s - age + WINDOW_S) * 1000 - q->now_ms();
	return WINDOW_S * 1000;
}

int quota_start(struct quotas *q, const char *tenant, struct err *e)
{
	struct tenant limits;
	int r = -EIO;

	if (!q)
		return 0;
	(void)pthread_mutex_lock(&q->lock);
	struct use *u = find(q, tenant, &limits, e);
	if (u)
		r = refuse_over(q, u, &limits, e);
	if (r == 0 && roll_minute(q, u) >= limits.runs && limits.runs)
		r = quota_refuse(u, QUOTA_RUNS, limits.runs, minute_wait_ms(q, u), e);
	if (u && r < 0)
		count_refusal(u, e);
	if (r == 0) {
		u->runs[u->runs_at_s % WINDOW_S]++;
		u->runs_all++;
		q->dirty = true;
	}
	(void)pthread_mutex_unlock(&q->lock);
	return r;
}

struct lease *lease_add(struct quotas *q, struct use *u, uint64_t memory, uint64_t disk)
{
	struct lease *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	*l = (struct lease){.use = u, .memory = memory, .disk = disk, .cancel_fd = FD_NONE};
	l->counted_at = l->since_ms = q->now_ms();
	u->live++;
	u->memory += memory;
	u->disk += disk;
	l->next = q->leases;
	if (l->next)
		l->next->prev = l;
	else if (q->idle) /* else it looks soon by itself */
		(void)pthread_cond_signal(&q->more);
	q->leases = l;
	return l;
}

void lease_unlink(struct quotas *q, struct lease *l)
{
	*(l->prev ? &l->prev->next : &q->leases) = l->next;
	if (l->next)
		l->next->prev = l->prev;
	l->use->live--;
	l->use->memory -= l->memory;
	l->use->disk -= l->disk;
	free(l);
}

void lease_count(struct quotas *q, struct lease *l, uint64_t cpu_ms)
{
	uint64_t now = q->now_ms(), cpu = cpu_ms > l->cpu_ms ? cpu_ms - l->cpu_ms : 0;
	double units =
		(double)cpu / 1000 + (double)l->memory / GIB * (double)(now - l->counted_at) / 1000;

	l->cpu_ms += cpu;
	l->counted_at = now;
	l->use->cpu_ms += cpu;
	l->use->cpu_all_ms += cpu;
	l->use->units += units;
	l->use->units_all_ms += (uint64_t)(units * 1000);
	q->dirty = true;
}

/* With the lock. */
static int take(struct quotas *q, const char *tenant, const struct quota_need *need,
		struct lease **ret, struct err *e)
{
	uint64_t memory = need->memory ? need->memory : MEMORY_DEFAULT;
	uint64_t disk = need->disk ? need->disk : DISK_DEFAULT;
	struct tenant t;
	struct use *u = find(q, tenant, &t, e);

	if (!u || refuse_over(q, u, &t, e) < 0)
		return -EAGAIN;
	if (t.live && u->live >= t.live)
		return quota_refuse(u, QUOTA_LIVE, t.live, WAIT_MS, e);
	if (t.memory && (memory > t.memory || u->memory > t.memory - memory))
		return quota_refuse(u, QUOTA_MEMORY, t.memory, memory > t.memory ? 0 : WAIT_MS, e);
	if (t.disk && (disk > t.disk || u->disk > t.disk - disk))
		return quota_refuse(u, QUOTA_DISK, t.disk, disk > t.disk ? 0 : WAIT_MS, e);
	*ret = lease_add(q, u, memory, disk);
	if (!*ret)
		return err_sys(e, "lease");
	(*ret)->cancel_fd = need->cancel_fd;
	return 0;
}

int quota_take(struct quotas *q, const char *tenant, const struct quota_need *need,
	       struct lease **ret, struct err *e)
{
	*ret = NULL;
	if (!q)
		return 0;
	(void)pthread_mutex_lock(&q->lock);
	int r = take(q, tenant, need, ret, e);
	struct use *u = r < 0 ? use_find(q, tenant, false) : NULL;
	bool look = u && u->live;
	if (u && !look)
		count_refusal(u, e);
	(void)pthread_mutex_unlock(&q->lock);
	if (!look)
		return r;
	/* A sandbox may have come to its end since we looked. */
	quota_look(q);
	*e = (struct err)ERR_INIT;
	(void)pthread_mutex_lock(&q->lock);
	r = take(q, tenant, need, ret, e);
	u = r < 0 ? use_find(q, tenant, false) : NULL;
	if (u)
		count_refusal(u, e);
	(void)pthread_mutex_unlock(&q->lock);
	return r;
}

void lease_sandbox(struct quotas *q, struct lease *l, const char *id)
{
	if (!l)
		return;
	(void)pthread_mutex_lock(&q->lock);
	(void)snprintf(l->sandbox, sizeof(l->sandbox), "%s", id);
	l->since_ms = q->now_ms();
	(void)pthread_mutex_unlock(&q->lock);
}

void lease_keep(struct quotas *q, struct lease *l, const char *id)
{
	if (!l)
		return;
	(void)pthread_mutex_lock(&q->lock);
	(void)snprintf(l->sandbox, sizeof(l->sandbox), "%s", id);
	l->since_ms = q->now_ms();
	l->box = true;
	l->cancel_fd = FD_NONE;
	q->dirty = true;
	(void)pthread_mutex_unlock(&q->lock);
}

void lease_end(struct quotas *q, struct lease *l, uint64_t cpu_us)
{
	if (!l)
		return;
	(void)pthread_mutex_lock(&q->lock);
	lease_count(q, l, cpu_us / 1000);
	lease_unlink(q, l);
	(void)pthread_mutex_unlock(&q->lock);
}

bool quota_is_over(struct quotas *q, const char *tenant, struct err *e)
{
	struct tenant limits;
	bool over = false;

	if (!q)
		return false;
	(void)pthread_mutex_lock(&q->lock);
	struct use *u = use_find(q, tenant, false);
	if (u && tenants_find(q->tenants, tenant, &limits, e) >= 0)
		over = refuse_over(q, u, &limits, e) < 0;
	(void)pthread_mutex_unlock(&q->lock);
	return over;
}
