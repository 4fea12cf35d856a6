/* SPDX-License-Identifier: Apache-2.0 */
/* Limits and accounting on the first generation: one group in each controller's hierarchy. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/fd.h"
#include "kernel/cgroup.h"

#ifdef DROP_SOCKET_MEMORY
#define HOLD_SOCKET_MEMORY 0
#else
#define HOLD_SOCKET_MEMORY 1
#endif

#define PERIOD_US 100000u
/* Beside --memory: what lies in sockets has an account of its own. With less, connections are slow. */
#define SOCKETS_MIN (8ull << 20)
#define SOCKETS_MAX (32ull << 20)

/*
 * What is sent and not read, of TCP and UDP. v1 counts it only where it has a limit, and apart from all
 * else; the host has one pool of it (net.ipv4.tcp_mem), and when that is empty nobody's connections work
 * any more.
 */
static int limit_sockets(const char *memory, uint64_t memory_bytes, struct err *e)
{
	static const char file[] = "memory.kmem.tcp.limit_in_bytes";
	uint64_t most = memory_bytes / 4;
	char path[CGROUP_PATH_MAX + 64];

	(void)snprintf(path, sizeof(path), "%s/%s", memory, file);
	if (!HOLD_SOCKET_MEMORY || access(path, F_OK) < 0)
		return 0; /* a kernel that does not count it at all */
	most = most < SOCKETS_MIN ? SOCKETS_MIN : most < SOCKETS_MAX ? most : SOCKETS_MAX;
	return cgroup_put(memory, file, most, e);
}

static int limit(const struct cgroup *cg, const struct cgroup_limits *l, struct err *e)
{
	const char *memory = cg->part[CG_MEMORY], *cpu = cg->part[CG_CPU];
	char path[CGROUP_PATH_MAX + 64];

	if (cgroup_put(memory, "memory.limit_in_bytes", l->memory_bytes, e) < 0 ||
	    limit_sockets(memory, l->memory_bytes, e) < 0 ||
	    cgroup_put(cg->part[CG_PIDS], "pids.max", l->pids + 1, e) < 0 || /* and the guest */
	    cgroup_put(cpu, "cpu.cfs_period_us", PERIOD_US, e) < 0 ||
	    cgroup_put(cpu, "cpu.cfs_quota_us", l->cpus_milli * PERIOD_US / 1000, e) < 0)
		return err_wrap(e, "limits");
	/* No swap: by the joint limit where the kernel accounts swap, else by not swapping. */
	(void)snprintf(path, sizeof(path), "%s/memory.memsw.limit_in_bytes", memory);
	if (access(path, W_OK) == 0)
		return cgroup_put(memory, "memory.memsw.limit_in_bytes", l->memory_bytes, e);
	return cgroup_put(memory, "memory.swappiness", 0, e);
}

static uint64_t oom_kills(const struct cgroup *cg)
{
	return cgroup_get(cg->part[CG_MEMORY], "memory.oom_control", "oom_kill");
}

static uint64_t pids_refused(const struct cgroup *cg)
{
	return cgroup_get(cg->part[CG_PIDS], "pids.events", "max");
}

static void usage(const struct cgroup *cg, struct cgroup_usage *ret)
{
	*ret = (struct cgroup_usage){
		.memory_peak_bytes =
			cgroup_get(cg->part[CG_MEMORY], "memory.max_usage_in_bytes", NULL),
		.oom_kills = oom_kills(cg),
		.pids_peak = cgroup_get(cg->part[CG_PIDS], "pids.peak", NULL),
		.pids_refused = pids_refused(cg),
		.cpu_us = cgroup_get(cg->part[CG_CPUACCT], "cpuacct.usage", NULL) / 1000,
	};
}

static uint64_t memory(const struct cgroup *cg)
{
	return cgroup_get(cg->part[CG_MEMORY], "memory.usage_in_bytes", NULL);
}

/* v1 kills one process at a time; v2 and we end the whole sandbox. */
static int watch_oom(const struct cgroup *cg)
{
	char path[CGROUP_PATH_MAX + 64], text[32];
	struct err e;
	auto_close int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	(void)snprintf(path, sizeof(path), "%s/memory.oom_control", cg->part[CG_MEMORY]);
	auto_close int control = open(path, O_RDONLY | O_CLOEXEC);
	if (event < 0 || control < 0)
		return -1;
	(void)snprintf(text, sizeof(text), "%d %d", event, control);
	if (cgroup_put_text(cg->part[CG_MEMORY], "cgroup.event_control", text, &e) < 0)
		return -1;
	return take_fd(&event);
}

static int kill_singly(const struct cgroup *cg)
{
	(void)cg; /* it does, unless somebody watches */
	return 0;
}

const struct cgroup_ops cgroup_v1_ops = {"v1",	    limit,	 usage,	    memory,	 false,
					 watch_oom, kill_singly, oom_kills, pids_refused};
