/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits that no control group holds, looked at now and then. What runs past a limit between two
 * looks is bounded by rlimits. With a control group, only the CPU time is asked for.
 */
#include "engine/run_int.h"
#include "warden/usage.h"

#define POLL_US 20000u

static void judge_cpu(struct pinfold_run *run, uint64_t used_us)
{
	uint64_t most = run->req.spec.limits.cpu_time_ms * 1000;

	if (most && used_us >= most)
		run_stop(run, STOP_CPU_TIME, true);
}

void run_poll_usage(struct pinfold_run *run)
{
	struct usage t;

	run->poll_us = now_us() + POLL_US;
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
