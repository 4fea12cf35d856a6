/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quotas of tenants: a file `tenants` in the directory of the API, one line each:
 *
 *	NAME live=N runs=N memory=BYTES disk=BYTES cpu=SECONDS/PERIOD budget=UNITS/PERIOD
 *	egress-bytes=N/PERIOD egress-connections=N/PERIOD egress-requests=N/PERIOD
 *
 * What is not there has no limit; periods are seconds. The line of "*" is for whoever has none of
 * his own. The file is replaced as a whole by `pinfold tenant`; who serves reads it again when it
 * changed.
 */
#ifndef API_TENANTS_H
#define API_TENANTS_H

#include <pinfold/policy.h>

#include "api/call.h"

#define TENANTS_MAX 4096u
#define TENANT_ANY "*"
#define TENANT_RUNS_MAX 1000000u
#define TENANT_PERIOD_MAX (366u * 24 * 3600)

/* 0: no limit. */
struct tenant {
	char name[TENANT_SIZE];
	uint64_t live;	 /* sandboxes at once, runs among them */
	uint64_t runs;	 /* started in any minute */
	uint64_t memory; /* bytes: the sum of the limits of what lives */
	uint64_t disk;	 /* the same */
	uint64_t cpu_s, cpu_period_s;
	uint64_t budget, budget_period_s; /* in units: quota.h */
	struct {
		uint64_t n, period_s;
	} egress[PINFOLD_PURSE_SUMS]; /* of the network */
};

struct tenants;

/* `dir` is borrowed. The file need not be there. */
int tenants_new(int dir, struct tenants **ret, struct err *e);
void tenants_free(struct tenants *t);
/* What holds for him. One thread at a time. A file that cannot be read is an error: nobody gets
 * more because of it. */
int tenants_find(struct tenants *t, const char *name, struct tenant *ret, struct err *e);
bool tenants_any(const struct tenants *t); /* is there a line at all? */

/* `pinfold tenant`: on the file itself, with a lock. change() is given the line, empty when it is
 * new; without a limit left it goes. */
int tenant_change(int dir, const char *name,
		  int (*change)(struct tenant *t, void *arg, struct err *e), void *arg,
		  struct err *e);
int tenant_list(int dir, struct tenant **ret, size_t *ret_n, struct err *e);
int tenant_remove(int dir, const char *name, struct err *e);

#endif
