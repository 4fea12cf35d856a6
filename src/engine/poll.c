/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits that no control group holds, looked at now and then. What runs past a limit between two
 * looks is bounded by rlimits. With a control group, only the CPU time is asked for.
 */
#include <sys/statfs.h>

#include "engine/run_int.h"
#include "store/measure.h"
#include "store/project.h"
#include "warden/usage.h"

#define POLL_US 20000u
#define NEAR_US 2000u /* while a layer fills */
#define ANYWAY_US 1000000u
#define NEAR_BYTES (64u << 10) /* of a quota: as good as full, as the guest sees it, too */
#define NEAR_FILES 8u
#define MEASURE_SHARE 20u /* of the time, one part at most is spent on looking, */
#define WRITTEN_SHARE 4u  /* and on files that are written to */

static void judge_cpu(struct pinfold_run *run, uint64_t used_us)
{
	uint64_t most = run->req.spec.limits.cpu_time_ms * 1000;

	if (most && used_us >= most)
		run_stop(run, STOP_CPU_TIME, true);
}

struct space run_disk_free(const struct pinfold_run *run)
{
	struct statfs fs = {0};

	if (fstatfs(run->upper->dir, &fs) < 0)
		return (struct space){0};
	return (struct space){
		.bytes = (uint64_t)fs.f_bfree * (uint64_t)fs.f_bsize,
		.files = (uint64_t)fs.f_ffree,
	};
}

/* A filesystem without a number of files in it says 0, and tells nothing. *near: a quarter of the room
 * may be taken, and a fast writer takes the rest of a small one between two looks. */
static bool may_have_grown(const struct pinfold_run *run, bool *near)
{
	const struct space *before = &run->free, *room = &run->room;
	struct space now = run_disk_free(run);

	*near = now.bytes < before->bytes && before->bytes - now.bytes > room->bytes / 4;
	return (now.bytes < before->bytes && before->bytes - now.bytes > room->bytes) ||
	       (now.files < before->files && before->files - now.files > room->files) ||
	       (now.files == 0 && before->files == 0);
}

/* A layer with many files takes a tenth of a second and more to look at, and a gigabyte is written
 * meanwhile, mostly to one file. */
static bool is_full_of_written(struct pinfold_run *run)
{
	uint64_t now = now_us();

	if (!run->disk_near || now < run->written_us)
		return false;
	bool full = usage_of_written(run->live.sb.pid) > run->room.bytes;
	run->written_us = now + WRITTEN_SHARE * (now_us() - now);
	return full;
}

/* The layer of a workspace. As long as its filesystem has lost little it has hardly grown; but
 * others may have given back what it took, so once a second it is looked at all the same. A
 * directory that we may not look into counts as too much only where the filesystem says that it may
 * be. */
static void judge_disk(struct pinfold_run *run)
{
	const struct space *room = &run->room;
	uint64_t now = now_us();
	struct measure m;

	if (!run->upper || run->req.held.disk == HELD_QUOTA)
		return;
	bool grown = may_have_grown(run, &run->disk_near);
	if (is_full_of_written(run)) {
		run->room_full = run->disk_full = true;
		run_stop(run, STOP_DISK, true);
		return;
	}
	if (now < run->measure_us)
		return;
	if (!grown && now < run->looked_us + ANYWAY_US)
		return;
	run->looked_us = now;
	measure_layer(run->upper->dir, room->bytes + 1, room->files + 1, &m);
	m.bytes += usage_of_nameless(run->live.sb.pid);
	run->measure_us = now + MEASURE_SHARE * (now_us() - now);
	if (m.bytes <= room->bytes && m.files <= room->files && !(m.beyond && grown))
		return;
	run->room_full = run->disk_full = m.bytes > room->bytes || m.files <= room->files;
	run->files_full = !run->disk_full;
	run_stop(run, STOP_DISK, true);
}

/* The guest says that there is no room: by the quota, or is the host's disk full? */
void run_judge_quota(struct pinfold_run *run)
{
	struct space left;

	if (!run->upper || !run->disk_full || run->req.held.disk != HELD_QUOTA ||
	    !project_left(run->upper, &left))
		return;
	run->room_full = left.bytes < NEAR_BYTES;
	run->files_full = left.files < NEAR_FILES;
	run->disk_full = run->room_full || !run->files_full;
}

void run_poll_usage(struct pinfold_run *run)
{
	uint64_t now = now_us();
	struct usage t;

	run->poll_us = now + POLL_US;
	judge_disk(run);
	if (run->disk_near && run->poll_us) {
		run->poll_us = now + NEAR_US;
		if (now < run->polled_us + POLL_US)
			return;
	}
	run->polled_us = now;
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
