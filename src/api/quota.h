/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a tenant may have at once and use in a period, and what he has used. Every start asks here
 * first, under one lock: what is let through counts from that moment on, so that no number of calls
 * at once gets past a limit. What is used is kept in a file and survives this process.
 *
 * What holds something has a lease. A run's ends with its call; that of a sandbox that lives ends
 * when the daemon has it no more, which a thread of ours looks for (quota_watch.c). The same thread
 * ends all that a tenant has once his processor time or his budget is used up.
 *
 * A unit of the budget is a second of processor time, or a GiB of memory limit held for a second.
 *
 * Any thread; q NULL: no quotas (pinfold mcp).
 */
#ifndef API_QUOTA_H
#define API_QUOTA_H

#include "api/tenants.h"

struct quotas;
struct lease;

enum quota {
	QUOTA_LIVE,
	QUOTA_RUNS,
	QUOTA_MEMORY,
	QUOTA_DISK,
	QUOTA_CPU,
	QUOTA_BUDGET,
	QUOTA_EGRESS, /* enum pinfold_purse behind it */
	QUOTAS = QUOTA_EGRESS + PINFOLD_PURSE_SUMS
};
const char *quota_name(enum quota q);

/* dir: where `tenants` is; state: where we may write; both borrowed. */
int quotas_new(int dir, int state, struct quotas **ret, struct err *e);
/* The thread that looks at what lives. */
int quotas_watch(struct quotas *q, struct err *e);
/* Save what was used, and count for ourselves alone from here on: another process has the file. */
void quotas_yield(struct quotas *q);
/* Something goes on in that sandbox which another process has begun. */
void quota_adopt(struct quotas *q, const char *tenant, const char *sandbox);
/* Saves what was used. */
void quotas_free(struct quotas *q);

/* Something is to be started: may he, now? Counts it. limit_exceeded with the quota's name behind
 * the dot, and a time after which it is worth trying again where waiting helps. */
int quota_start(struct quotas *q, const char *tenant, struct err *e);

struct quota_need {
	uint64_t memory, disk; /* 0: the contract's defaults */
	int cancel_fd;	       /* an eventfd, written to when it must end; of a run */
};
/* Room for one more, or limit_exceeded. *ret may be NULL (no quotas); all functions take that. */
int quota_take(struct quotas *q, const char *tenant, const struct quota_need *need,
	       struct lease **ret, struct err *e);
/* It is in this sandbox: its processor time is looked up there. */
void lease_sandbox(struct quotas *q, struct lease *l, const char *id);
/* From here on it belongs to that sandbox, which lives by itself. */
void lease_keep(struct quotas *q, struct lease *l, const char *id);
/* It has ended, or was never started; cpu_us: all that it used. */
void lease_end(struct quotas *q, struct lease *l, uint64_t cpu_us);
/* A sandbox is about to be ended: what it used up to now is counted. */
void quota_box_ends(struct quotas *q, const char *id);

/* Is his time or budget used up? Then all that he has is ended: fills e as quota_start() does. */
bool quota_is_over(struct quotas *q, const char *tenant, struct err *e);
/* How much of `kind`, as the error's detail names it, he may use: `value` and `unit` in `to`. */
void quota_value(struct quotas *q, const char *tenant, const char *kind, struct value *to);

/*
 * What is about to be started may reach the network: it is counted in the tenant's purse, a file by
 * his name in the API's state that every gate of his spends from, so his quotas hold for all of
 * them together, to the byte, whichever process they belong to. What is open when one is used up
 * breaks; nothing is ended. *ret_fd, to be closed, is for pinfold_run_options; 0: there is none, or
 * nothing to count. limit_exceeded as quota_start()'s.
 */
struct pinfold_run_options;
int quota_purse(struct api *api, const char *tenant, const struct pinfold_run_options *o,
		int *ret_fd, struct err *e);

/* A command in a workspace runs in a process of the keeper's, without the purse: it gets what is
 * left when it starts, and what its result tells is added when it has ended. */
void purse_narrow(struct pinfold_run_options *o);
void purse_add_result(int fd, const char *document);

/* {"tenant", "usage", "quotas"} of one, or of all (tenant NULL) as an array. */
struct value *quota_describe(struct quotas *q, const char *tenant, struct err *e);

/* For /metrics: once for every tenant, with the lock. */
struct quota_sum {
	const char *tenant;
	uint64_t live, memory, runs, cpu_ms, units_ms, refused[QUOTAS], stopped;
	uint64_t egress[PINFOLD_PURSE_SUMS];
};
void quota_each(struct quotas *q, void (*fn)(const struct quota_sum *s, void *arg), void *arg);

#endif
