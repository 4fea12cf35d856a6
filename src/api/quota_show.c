/* SPDX-License-Identifier: Apache-2.0 */
/* Quotas and what was used of them, for callers and for /metrics. */
#include <stdio.h>
#include <string.h>

#include "api/quota_int.h"

static struct value *limit(uint64_t n)
{
	return n ? value_of_u64(n) : value_of_null();
}

static struct value *limit_in(uint64_t n, uint64_t period_s)
{
	struct value *o;

	if (!n)
		return value_of_null();
	o = value_object();
	value_set(o, "value", value_of_u64(n));
	value_set(o, "period_s", value_of_u64(period_s));
	return o;
}

static struct value *limits_value(const struct tenant *t)
{
	struct value *o = value_object();

	value_set(o, quota_name(QUOTA_LIVE), limit(t->live));
	value_set(o, quota_name(QUOTA_RUNS), limit(t->runs));
	value_set(o, quota_name(QUOTA_MEMORY), limit(t->memory));
	value_set(o, quota_name(QUOTA_DISK), limit(t->disk));
	value_set(o, quota_name(QUOTA_CPU), limit_in(t->cpu_s, t->cpu_period_s));
	value_set(o, quota_name(QUOTA_BUDGET), limit_in(t->budget, t->budget_period_s));
	for (unsigned i = 0; i < PINFOLD_PURSE_SUMS; i++)
		value_set(o, quota_name(QUOTA_EGRESS + i),
			  limit_in(t->egress[i].n, t->egress[i].period_s));
	return o;
}

static uint64_t in_minute(const struct quotas *q, const struct use *u)
{
	uint64_t now = q->now_ms() / 1000, sum = 0;

	for (uint64_t age = 0; age < WINDOW_S && age <= u->runs_at_s; age++)
		if (u->runs_at_s - age + WINDOW_S > now)
			sum += u->runs[(u->runs_at_s - age) % WINDOW_S];
	return sum;
}

static struct value *one(struct quotas *q, struct use *u, const struct tenant *t)
{
	struct value *o = value_object(), *used = value_object();
	uint64_t wait_s = 0;
	uint64_t egress_wait_s = 0;
	enum quota over = use_over(q, u, t, &wait_s);
	enum quota egress = purse_look(q, u, t, &egress_wait_s);

	if (over == QUOTAS) {
		over = egress;
		wait_s = egress_wait_s;
	}
	value_set(used, quota_name(QUOTA_LIVE), value_of_u64(u->live));
	value_set(used, quota_name(QUOTA_RUNS), value_of_u64(in_minute(q, u)));
	value_set(used, quota_name(QUOTA_MEMORY), value_of_u64(u->memory));
	value_set(used, quota_name(QUOTA_DISK), value_of_u64(u->disk));
	value_set(used, quota_name(QUOTA_CPU), value_of_real((double)u->cpu_ms / 1000));
	value_set(used, quota_name(QUOTA_BUDGET), value_of_real(u->units));
	for (unsigned i = 0; i < PINFOLD_PURSE_SUMS; i++)
		value_set(used, quota_name(QUOTA_EGRESS + i),
			  value_of_u64(u->egress[i].all - u->egress[i].before));
	value_set(used, "runs_total", value_of_u64(u->runs_all));
	value_set(used, "cpu_seconds_total", value_of_real((double)u->cpu_all_ms / 1000));
	value_set(o, "tenant", value_of_str(u->name));
	value_set(o, "usage", used);
	value_set(o, "quotas", limits_value(t));
	value_set(o, "over", over == QUOTAS ? value_of_null() : value_of_str(quota_name(over)));
	value_set(o, "again_in_s", over == QUOTAS ? value_of_null() : value_of_u64(wait_s));
	return o;
}

struct value *quota_describe(struct quotas *q, const char *tenant, struct err *e)
{
	struct value *all = value_array();
	struct tenant t;
	int r = 0;

	(void)pthread_mutex_lock(&q->lock);
	if (tenant)
		(void)use_find(q, tenant, true); /* one without an account has used nothing */
	for (struct use *u = q->users; u && r >= 0; u = u->next) {
		if (tenant && strcmp(u->name, tenant) != 0)
			continue;
		r = tenants_find(q->tenants, u->name, &t, e);
		if (r >= 0)
			value_add(all, one(q, u, &t));
	}
	(void)pthread_mutex_unlock(&q->lock);
	if (r >= 0)
		return all;
	value_free(all);
	return NULL;
}

void quota_each(struct quotas *q, void (*fn)(const struct quota_sum *s, void *arg), void *arg)
{
	if (!q)
		return;
	(void)pthread_mutex_lock(&q->lock);
	for (const struct use *u = q->users; u; u = u->next) {
		struct quota_sum s = {.tenant = u->name,
				      .live = u->live,
				      .memory = u->memory,
				      .runs = u->runs_all,
				      .cpu_ms = u->cpu_all_ms,
				      .units_ms = u->units_all_ms,
				      .stopped = u->stopped};

		memcpy(s.refused, u->refused, sizeof(s.refused));
		for (unsigned i = 0; i < PINFOLD_PURSE_SUMS; i++)
			s.egress[i] = u->egress[i].all;
		fn(&s, arg);
	}
	(void)pthread_mutex_unlock(&q->lock);
}

void quota_value(struct quotas *q, const char *tenant, const char *kind, struct value *to)
{
	struct err ignored = ERR_INIT;
	struct tenant t;

	if (!q || tenants_find(q->tenants, tenant, &t, &ignored) < 0)
		return;
	bool cpu = strcmp(kind, quota_name(QUOTA_CPU)) == 0;
	value_set(to, "value", value_of_u64(cpu ? t.cpu_s : t.budget));
	value_set(to, "unit", value_of_str(cpu ? "s" : "units"));
}
