/* SPDX-License-Identifier: Apache-2.0 */
/* Limits and accounting on the unified hierarchy: one group with every controller. */
#include <stdio.h>
#include <string.h>

#include "kernel/cgroup.h"

#define PERIOD_US 100000u

static int limit(const struct cgroup *cg, const struct cgroup_limits *l, struct err *e)
{
	const char *dir = cg->part[CG_UNIFIED];
	char text[64];

	(void)snprintf(text, sizeof(text), "%llu %u",
		       (unsigned long long)(l->cpus_milli * PERIOD_US / 1000), PERIOD_US);
	if (cgroup_put(dir, "memory.max", l->memory_bytes, e) < 0 ||
	    cgroup_put(dir, "pids.max", l->pids + 1, e) < 0 || /* and the guest */
	    cgroup_put_text(dir, "cpu.max", text, e) < 0 ||
	    cgroup_put(dir, "memory.oom.group", 1, e) < 0)
		return err_wrap(e, "limits");
	/* Absent where the kernel has no swap to account. */
	if (cgroup_put(dir, "memory.swap.max", 0, e) < 0 && e->num != ENOENT)
		return err_wrap(e, "limits");
	return 0;
}

static uint64_t oom_kills(const struct cgroup *cg)
{
	return cgroup_get(cg->part[CG_UNIFIED], "memory.events", "oom_kill");
}

static uint64_t pids_refused(const struct cgroup *cg)
{
	return cgroup_get(cg->part[CG_UNIFIED], "pids.events", "max");
}

static void usage(const struct cgroup *cg, struct cgroup_usage *ret)
{
	const char *dir = cg->part[CG_UNIFIED];

	*ret = (struct cgroup_usage){
		.memory_peak_bytes = cgroup_get(dir, "memory.peak", NULL),
		.oom_kills = oom_kills(cg),
		.pids_peak = cgroup_get(dir, "pids.peak", NULL),
		.pids_refused = pids_refused(cg),
		.cpu_us = cgroup_get(dir, "cpu.stat", "usage_usec"),
	};
}

static uint64_t memory(const struct cgroup *cg)
{
	return cgroup_get(cg->part[CG_UNIFIED], "memory.current", NULL);
}

static int watch_oom(const struct cgroup *cg)
{
	(void)cg; /* memory.oom.group ends everything at once */
	return -1;
}

static int kill_singly(const struct cgroup *cg)
{
	struct err e = ERR_INIT;

	return cgroup_put(cg->part[CG_UNIFIED], "memory.oom.group", 0, &e);
}

const struct cgroup_ops cgroup_v2_ops = {"v2",	    limit,	 usage,	    memory,	 true,
					 watch_oom, kill_singly, oom_kills, pids_refused};
