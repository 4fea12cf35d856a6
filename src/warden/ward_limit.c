/* SPDX-License-Identifier: Apache-2.0 */
/* What holds a sandbox within its limits: its group where there is one, else looks at it (ward_poll); and
 * its time. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "warden/control.h"
#include "warden/usage.h"
#include "warden/ward_int.h"
#include "wire/msg.h"

#define EMPTY_POLLS 50u /* a second, for a command that is on its way to the guest */

uint64_t ward_oom_kills(const struct ward *ward)
{
	const struct cgroup_ops *ops = ward->live.cgroup.ops;

	return ops ? ops->oom_kills(&ward->live.cgroup) : ward->relieved;
}

uint64_t ward_pids_refused(const struct ward *ward)
{
	const struct cgroup_ops *ops = ward->live.cgroup.ops;

	return ops ? ops->pids_refused(&ward->live.cgroup) : 0;
}

bool ward_was_oom(const struct ward *ward, uint64_t before, int status)
{
	bool killed = WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL
					  : WEXITSTATUS(status) == 128 + SIGKILL;

	return killed && ward_oom_kills(ward) > before;
}

void ward_watch_memory(struct warden *w, struct ward *ward)
{
	struct err e = ERR_INIT;

	/* Of one that lives only who is too large dies, not the sandbox with its files. */
	if (ward->live.cgroup.ops && ward->held) {
		fd_close(&ward->oom);
		(void)ward->live.cgroup.ops->kill_singly(&ward->live.cgroup); /* or all do */
	} else if (ward->live.cgroup.ops && ward->oom < 0) {
		ward->oom = ward->live.cgroup.ops->watch_oom(&ward->live.cgroup);
	}
	if (ward->oom >= 0)
		(void)warden_watch(w, ward->oom, &ward->sources[SOURCE_OOM], &e);
	ward->polled = !ward->live.cgroup.ops || ward->spec.limits.cpu_time_ms;
	w->n_polled += ward->polled;
}

/* The kernel would kill one process at a time, too. */
static void relieve(struct ward *ward)
{
	if (!ward->held) {
		ward_kill(ward, LINK_STOP_MEMORY);
		return;
	}
	ward->relieving = !ward->relieving; /* what it had comes back before the next look */
	if (!ward->relieving)
		return;
	uint64_t pages = ward->spec.limits.memory_bytes / (uint64_t)sysconf(_SC_PAGESIZE);
	control_send(ward->live.sb.control, MSG_RELIEVE,
		     pages < INT32_MAX ? (int)pages : INT32_MAX);
	ward->relieved++;
}

/* True: nobody is inside but the guest. */
static bool poll_one(struct ward *ward)
{
	uint64_t cpu_max_us = ward->spec.limits.cpu_time_ms * 1000, cpu_us = 0;
	struct usage u = {0};

	if (ward->live.cgroup.ops) {
		struct cgroup_usage usage;

		ward->live.cgroup.ops->usage(&ward->live.cgroup, &usage);
		cpu_us = usage.cpu_us;
	} else {
		usage_of_tree(ward->live.sb.pid, ward->spec.limits.memory_bytes, &u);
		cpu_us = u.cpu_us;
		ward->memory_peak = u.memory > ward->memory_peak ? u.memory : ward->memory_peak;
		ward->pids_peak = u.pids > ward->pids_peak ? u.pids : ward->pids_peak;
		ward->pids_full = ward->pids_full || u.pids >= ward->spec.limits.pids;
		if (u.memory > ward->spec.limits.memory_bytes)
			relieve(ward);
		else
			ward->relieving = false;
	}
	if (cpu_max_us && cpu_us >= cpu_max_us)
		ward_kill(ward, LINK_STOP_CPU_TIME);
	return !ward->live.cgroup.ops && u.pids == 0;
}

void ward_rouse(struct warden *w, struct ward *ward)
{
	w->n_polled += ward->resting;
	ward->resting = false;
	ward->seen_empty = 0;
}

/* Nobody can get in but by us, so who found nobody inside for a while need not look again. */
static void rest(struct warden *w, struct ward *ward, bool empty)
{
	ward->seen_empty = empty && ward->held && !ward->visitors ? ward->seen_empty + 1 : 0;
	if (ward->seen_empty < EMPTY_POLLS)
		return;
	ward->resting = true;
	w->n_polled--;
}

void ward_poll(struct warden *w)
{
	for (struct ward *ward = w->wards; ward; ward = ward->next)
		if (ward->polled && !ward->resting && ward->state == WARD_RUNNING)
			rest(w, ward, poll_one(ward));
}

void ward_set_deadline(struct warden *w, struct ward *ward, uint64_t at_us)
{
	uint64_t now = warden_now_us();

	ward->deadline_us = at_us;
	ward->expires_ms = warden_now_ms() + (at_us > now ? at_us - now : 0) / 1000;
	if (!w->next_deadline_us || at_us < w->next_deadline_us)
		w->next_deadline_us = at_us;
}

void ward_ask_to_end(struct ward *ward)
{
	if (ward->paused)
		ward_kill(ward, LINK_STOP_CALLER); /* it would not hear */
	else
		control_send(ward->live.sb.control, MSG_SIGNAL, SIGTERM);
}

/* Its time is over: SIGTERM, after the grace SIGKILL to all. */
static void expire_one(struct warden *w, struct ward *ward)
{
	if (ward->state == WARD_LEFT) {
		ward_free(w, ward);
		return;
	}
	if (ward->stop == LINK_STOP_NONE)
		ward->stop = LINK_STOP_TIME;
	if (ward->warned || ward->paused || !ward->jobs) {
		ward->deadline_us = 0;
		ward_kill(ward, LINK_STOP_TIME);
		return;
	}
	ward->warned = true;
	control_send(ward->live.sb.control, MSG_SIGNAL, SIGTERM);
	ward->deadline_us = warden_now_us() + ward->spec.limits.grace_ms * 1000;
}

void ward_expire(struct warden *w)
{
	uint64_t now = warden_now_us(), soonest = 0;

	if (!w->next_deadline_us || now < w->next_deadline_us)
		return;
	for (struct ward *ward = w->wards, *next; ward; ward = next) {
		next = ward->next;
		if (ward->deadline_us && now >= ward->deadline_us)
			expire_one(w, ward);
	}
	for (struct ward *ward = w->wards; ward; ward = ward->next)
		if (ward->deadline_us && (!soonest || ward->deadline_us < soonest))
			soonest = ward->deadline_us;
	w->next_deadline_us = soonest;
}
