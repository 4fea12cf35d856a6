/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits that no control group holds, looked at now and then: memory and CPU time of all
 * processes of the sandbox, found as descendants of its guest. What runs past a limit between two
 * looks is bounded by rlimits. With a control group, only the CPU time is asked for.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/run_int.h"

#define POLL_US 20000u
#define PROCESSES_MAX 4096

struct total {
	uint64_t memory, cpu_us, pids;
};

static size_t read_proc(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	size_t len = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fd_read_max(fd, text, size - 1, &len) < 0)
		len = 0;
	text[len] = '\0';
	return len;
}

static void add_process(pid_t pid, struct total *t)
{
	char text[1024];
	unsigned long resident = 0, user = 0, sys = 0, child_user = 0, child_sys = 0;

	/* The name in parentheses may hold anything; the numbers come after the last one. */
	if (!read_proc(pid, "stat", text, sizeof(text)))
		return;
	const char *p = strrchr(text, ')');
	if (p && sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu",
			&user, &sys, &child_user, &child_sys) == 4)
		t->cpu_us += (user + sys + child_user + child_sys) * 10000; /* ticks of 1/100 s */
	if (read_proc(pid, "statm", text, sizeof(text)) && sscanf(text, "%*u %lu", &resident) == 1)
		t->memory += (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
	t->pids++;
}

/* Breadth first from the guest; orphans are adopted by it, so all are found. */
static void add_tree(pid_t guest, struct total *t)
{
	static __thread pid_t queue[PROCESSES_MAX];
	char name[64], text[8192];
	unsigned head = 0, tail = 0;

	queue[tail++] = guest;
	while (head < tail) {
		pid_t pid = queue[head++];

		if (pid != guest)
			add_process(pid, t);
		(void)snprintf(name, sizeof(name), "task/%d/children", (int)pid);
		if (!read_proc(pid, name, text, sizeof(text)))
			continue;
		for (char *p = text, *end; tail < PROCESSES_MAX; p = end) {
			long child = strtol(p, &end, 10);

			if (end == p)
				break;
			queue[tail++] = (pid_t)child;
		}
	}
}

static void judge_cpu(struct pinfold_run *run, uint64_t used_us)
{
	uint64_t most = run->req.spec.limits.cpu_time_ms * 1000;

	if (most && used_us >= most)
		run_stop(run, STOP_CPU_TIME, true);
}

void run_poll_usage(struct pinfold_run *run)
{
	struct total t = {0};

	run->poll_us = now_us() + POLL_US;
	if (run->cgroup.ops) {
		struct cgroup_usage usage;

		run->cgroup.ops->usage(&run->cgroup, &usage);
		judge_cpu(run, usage.cpu_us);
		return;
	}
	add_tree(run->sb.pid, &t);
	if (t.memory > run->polled_memory_peak)
		run->polled_memory_peak = t.memory;
	if (t.pids > run->polled_pids_peak)
		run->polled_pids_peak = t.pids;
	if (t.pids >= run->req.spec.limits.pids)
		run->pids_full = true;
	if (t.memory > run->req.spec.limits.memory_bytes)
		run_stop(run, STOP_MEMORY, true);
	judge_cpu(run, t.cpu_us);
}
