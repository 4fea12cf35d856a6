/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits that no control group holds, looked at now and then. What runs past a limit between two
 * looks is bounded by rlimits. With a control group, only the CPU time is asked for.
 */
#include <sys/statfs.h>

#include "engine/run_int.h"
#include "store/measure.h"
#include "warden/usage.h"

#define POLL_US 20000u
#define MEASURE_SHARE 20u /* of the time, one part at most is spent on looking */

static void judge_cpu(struct pinfold_run *run, uint64_t used_us)
{
	uint64_t most = run->req.spec.limits.cpu_time_ms * 1000;

	if (most && used_us >= most)
		run_stop(run, STOP_CPU_TIME, true);
}

uint64_t run_disk_free(const struct pinfold_run *run)
{
	struct statfs fs = {0};

	return fstatfs(run->upper->dir, &fs) < 0 ? 0 : (uint64_t)fs.f_bfree * (uint64_t)fs.f_bsize;
}

/* The layer of a workspace. It can only have grown by as much as its filesystem has lost, so as long
 * as that is little there is no need to look at it. */
static void judge_disk(struct pinfold_run *run)
{
	uint64_t limit = run->req.spec.limits.disk_bytes, now = now_us();
	uint64_t room = limit - run->disk_used;
	struct measure m;

	if (!run->upper || now < run->measure_us)
		return;
	uint64_t left = run_disk_free(run);
	if (left >= run->disk_free || run->disk_free - left <= room)
		return;
	measure_tree(run->upper->dir, room + 1, &m);
	run->measure_us = now + MEASURE_SHARE * (now_us() - now);
	if (m.bytes <= room && !m.beyond)
		return;
	run->disk_full = true;
	run_stop(run, STOP_DISK, true);
}

void run_poll_usage(struct pinfold_run *run)
{
	struct usage t;

	run->poll_us = now_us() + POLL_US;
	judge_disk(run);
	if (run->live.cgroup.ops && !run->req.spec.limits.cpu_time_ms)
		return;
	if (run->live.cgroup.ops) {
		struct cgroup_usage usage;

		run->live.cgroup.ops->usage(&run->live.cgroup, &usage);
		judge_cpu(run, usage.cpu_us);
		return;
	}
	usage_of_tree(run->live.sb.pid, run->req.spec.limits.memory_bytes, &t);
	unsigned witnesses = spec_guests(&run->req.spec) - 1;
	t.pids -= t.pids > witnesses ? witnesses : t.pids;
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
