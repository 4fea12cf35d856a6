/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quotas of the network. Gates count, in a file of the tenant's (pinfold_purse_open()), and stop by
 * themselves; here is looked at what is used, once a second while something runs, and said how far
 * it may go in this period.
 */
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "api/boxes.h"
#include "api/quota_int.h"
#include "base/fd.h"
#include "pinfold/pinfold.h"

static int open_purse(int state, const char *tenant, bool make, int *ret_fd, struct err *e)
{
	struct pinfold_error failure;
	char name[TENANT_SIZE + 8];

	(void)snprintf(name, sizeof(name), "purse-%s", tenant);
	return pinfold_purse_open(state, name, make, ret_fd, &failure) < 0 ? api_error(e, &failure)
									   : 0;
}

enum quota purse_look(struct quotas *q, struct use *u, const struct tenant *limits,
		      uint64_t *ret_wait_s)
{
	uint64_t used[PINFOLD_PURSE_SUMS], stop[PINFOLD_PURSE_SUMS] = {0}, now = q->wall_s();
	struct err none = ERR_INIT; /* nothing was ever used */
	struct pinfold_error ignored;
	auto_close int fd = FD_NONE;
	enum quota over = QUOTAS;

	if (open_purse(q->state, u->name, false, &fd, &none) < 0 ||
	    pinfold_purse_used(fd, used, &ignored) < 0)
		return QUOTAS;
	for (unsigned i = 0; i < PINFOLD_PURSE_SUMS; i++) {
		uint64_t n = limits->egress[i].n, period_s = limits->egress[i].period_s;

		q->dirty |= u->egress[i].all != used[i];
		u->egress[i].all = used[i];
		/* Behind what was: somebody has removed the file. */
		if ((n && quota_turn(now, period_s, &u->egress[i].since_s)) ||
		    u->egress[i].before > used[i])
			u->egress[i].before = used[i];
		stop[i] = n ? u->egress[i].before + n : 0;
		if (n && used[i] >= stop[i] && over == QUOTAS) {
			over = QUOTA_EGRESS + i;
			*ret_wait_s = u->egress[i].since_s + period_s - now;
		}
	}
	(void)pinfold_purse_stop(fd, stop, &ignored); /* the next look tries again */
	return over;
}

void purses_look(struct quotas *q)
{
	struct tenant limits;
	uint64_t ignored;

	(void)pthread_mutex_lock(&q->lock);
	for (struct use *u = q->users; u; u = u->next) {
		struct err e = ERR_INIT; /* who cannot be looked up goes on as he was */

		if (u->live && tenants_find(q->tenants, u->name, &limits, &e) >= 0)
			(void)purse_look(q, u, &limits, &ignored);
	}
	(void)pthread_mutex_unlock(&q->lock);
}

/* With the lock. */
static int may_start(struct quotas *q, const char *tenant, struct err *e)
{
	struct tenant limits;
	uint64_t wait_s = 0;

	if (tenants_find(q->tenants, tenant, &limits, e) < 0)
		return -EIO;
	struct use *u = use_find(q, tenant, true);
	if (!u)
		return err_set(e, ERR_BUSY, "too many tenants at once");
	enum quota over = purse_look(q, u, &limits, &wait_s);
	if (over == QUOTAS)
		return 0;
	int r = quota_refuse(u, over, limits.egress[over - QUOTA_EGRESS].n, wait_s * 1000, e);
	count_refusal(u, e);
	return r;
}

int quota_purse(struct api *api, const char *tenant, const struct pinfold_run_options *o,
		int *ret_fd, struct err *e)
{
	bool reaches = (o->allow && o->allow[0]) || o->policy || o->flags & PINFOLD_OPEN_POLICY;
	auto_close int fd = FD_NONE;

	*ret_fd = 0;
	if (!reaches || api->state < 0)
		return 0;
	int r = open_purse(api->state, tenant, true, &fd, e);
	if (r >= 0 && api->quotas) {
		(void)pthread_mutex_lock(&api->quotas->lock);
		r = may_start(api->quotas, tenant, e);
		(void)pthread_mutex_unlock(&api->quotas->lock);
	}
	if (r >= 0)
		*ret_fd = take_fd(&fd);
	return r;
}

static void narrow(uint64_t *limit, uint64_t left)
{
	if (left != UINT64_MAX && (!*limit || *limit > left))
		*limit = left ? left : 1; /* 0 is no limit; who has nothing left was refused */
}

void purse_narrow(struct pinfold_run_options *o)
{
	uint64_t left[PINFOLD_PURSE_SUMS];
	struct pinfold_error ignored; /* it was opened a moment ago */

	if (!o->egress_purse || pinfold_purse_left(o->egress_purse, left, &ignored) < 0)
		return;
	narrow(&o->egress_bytes, left[PINFOLD_PURSE_BYTES]);
	narrow(&o->egress_connections, left[PINFOLD_PURSE_CONNECTIONS]);
	narrow(&o->egress_requests, left[PINFOLD_PURSE_REQUESTS]);
}

void purse_add_result(int fd, const char *document)
{
	uint64_t sums[PINFOLD_PURSE_SUMS] = {0};
	struct err ignored = ERR_INIT; /* one that failed early used nothing */
	struct pinfold_error none;
	auto_value *v = NULL;

	if (!fd || !document || value_parse(document, strlen(document), &v, &ignored) < 0)
		return;
	const struct value *rows = value_get(v, "network");
	for (size_t i = 0; i < value_len(rows); i++) {
		const struct value *row = value_at(rows, i);
		const char *verdict = value_str(value_get(row, "verdict"));

		if (!verdict || strcmp(verdict, "allowed") != 0)
			continue;
		sums[PINFOLD_PURSE_BYTES] += (uint64_t)value_int(value_get(row, "bytes_in")) +
					     (uint64_t)value_int(value_get(row, "bytes_out"));
		/* The document does not say which of the two it counts. */
		sums[PINFOLD_PURSE_CONNECTIONS] += (uint64_t)value_int(value_get(row, "count"));
		sums[PINFOLD_PURSE_REQUESTS] += (uint64_t)value_int(value_get(row, "count"));
	}
	(void)pinfold_purse_add(fd, sums, &none);
}
