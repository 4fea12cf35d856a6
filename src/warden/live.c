/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/live.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/remove.h"
#include "sandbox/attach.h"
#include "sandbox/hold.h"
#include "sandbox/volume.h"
#include "warden/place.h"

#define QUARANTINE_MS (HOLD_GIVE_UP ? 5000 : -1)

void live_init(struct live *l)
{
	*l = (struct live){
		.sb = SANDBOX_INIT,
		.journal = JOURNAL_INIT,
		.volume = FD_NONE,
		.scope = SCOPE_INIT,
	};
}

static int make_journal(struct live *l, struct sandbox_spec *spec, struct err *e)
{
	char lines[4096], dir[512], scope[SCOPE_NAME_MAX];
	size_t n = 0;

	if (!l->cgroup.ops && !l->wants_scope && !spec->ids.range && !l->scratch[0])
		return 0; /* nothing will be left on the host that could be left behind */
	for (int i = 0; i < CGROUP_PARTS; i++)
		if (l->cgroup.part[i][0])
			n += (size_t)snprintf(lines + n, sizeof(lines) - n, "cgroup %s\n",
					      l->cgroup.part[i]);
	if (l->scratch[0])
		n += (size_t)snprintf(lines + n, sizeof(lines) - n, "dir %s\n", l->scratch);
	if (l->wants_scope) {
		scope_name(spec->id, scope);
		n += (size_t)snprintf(lines + n, sizeof(lines) - n, "scope %s\n", scope);
	}
	lines[n] = '\0';
	if (place_runtime(dir, sizeof(dir), e) < 0)
		return -ENOENT;
	int r = journal_open(dir, &l->journal, e);
	if (r == -ENOENT && place_make(dir, e) == 0)
		r = journal_open(dir, &l->journal, e);
	if (r < 0)
		return r;
	r = journal_begin(&l->journal, lines, e);
	if (r < 0)
		return r;
	if (spec->ids.range && !spec->ids.helper && HOLD_IDS) {
		spec->ids.uid_base += l->journal.slot * SANDBOX_IDS;
		spec->ids.gid_base += l->journal.slot * SANDBOX_IDS;
	}
	return 0;
}

static int make_scratch(const struct live *l, const struct sandbox_ids *ids, struct err *e)
{
	if (!l->scratch[0])
		return 0;
	if (mkdir(l->scratch, 0700) < 0)
		return err_sys(e, "make %s", l->scratch);
	if (ids->range &&
	    chown(l->scratch, ids->uid_base + SANDBOX_UID, ids->gid_base + SANDBOX_UID) < 0)
		return err_sys(e, "give %s to the sandbox", l->scratch);
	return 0;
}

static int make_volume(struct live *l, const struct sandbox_spec *spec, int *ret_mount,
		       struct err *e)
{
	char dir[512];

	if (place_data(dir, sizeof(dir), e) < 0 || place_make(dir, e) < 0)
		return err_wrap(e, "--disk");
	int r = volume_make(dir, spec->limits.disk_bytes, spec->ids.uid_base, spec->ids.gid_base,
			    ret_mount, e);
	if (r < 0)
		return r;
	l->volume = openat(*ret_mount, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return l->volume < 0 ? err_sys(e, "--disk") : 0;
}

/* One that is only for what tmpfs lacks can be done without. */
static int use_volume(struct live *l, struct sandbox_spec *spec, int *ret_mount, struct err *e)
{
	int r = spec->on_volume ? make_volume(l, spec, ret_mount, e) : 0;

	if (r >= 0 || spec->limits.disk_bytes > spec->limits.memory_bytes / 2)
		return r;
	*e = (struct err)ERR_INIT; /* in memory, then */
	spec->on_volume = false;
	return 0;
}

static int meanwhile(struct live *l, struct err *e)
{
	live_fn *fn = l->meanwhile;

	l->meanwhile = NULL;
	return fn ? fn(l->with, e) : 0;
}

/* The guest has its first steps: now whatever else the caller has to do before the command runs. */
static int give_first(void *with, const struct plan_head *first, struct err *e)
{
	struct live *l = with;
	int r = sandbox_give_first(&l->sb, first, e);

	return r < 0 ? r : meanwhile(l, e);
}

static int give_ids_and_plan(struct live *l, const struct sandbox_spec *of, struct err *e)
{
	struct sandbox_spec with = *of, *spec = &with;
	struct plan *plan = NULL;
	char runtime[512];
	int r = 0;

	if (spec->level == LEVEL_STRICT && !spec->zygote)
		r = sandbox_map_ids(&l->sb, spec, e);
	if (geteuid() != 0 && place_runtime(runtime, sizeof(runtime), e) >= 0)
		with.runtime = runtime;
	if (r >= 0)
		r = plan_new_parts(spec, spec->warm || spec->zygote ? NULL : give_first, l, &plan,
				   e);
	if (r >= 0)
		r = meanwhile(l, e);
	if (r >= 0)
		r = sandbox_give_plan(&l->sb, plan, NULL, e);
	plan_free(plan);
	return r;
}

/* Whatever else failed, a guest that was never born would be why. */
static int born(struct live *l, int r, struct err *e)
{
	struct err birth = ERR_INIT;
	int b = sandbox_started(&l->sb, &birth);

	if (b < 0)
		*e = birth;
	return b < 0 ? b : r;
}

int live_make(struct live *l, struct sandbox_spec *spec, const struct cgroup_host *host,
	      const int stdio[3], struct err *e)
{
	struct sandbox_fds fds = {{stdio[0], stdio[1], stdio[2]},
				  {FD_NONE, FD_NONE, FD_NONE, FD_NONE, FD_NONE, FD_NONE, FD_NONE,
				   FD_NONE, FD_NONE, FD_NONE},
				  FD_NONE};
	int *deps = &fds.extra[ATTACH_DEPS - GUEST_EXTRA];
	auto_close int dir = FD_NONE, usr = FD_NONE, volume = FD_NONE, group = FD_NONE,
		       layers = FD_NONE, state = FD_NONE, git = FD_NONE;

	l->limits = (struct cgroup_limits){
		.memory_bytes = spec->limits.memory_bytes,
		.pids = spec->limits.pids + spec_guests(spec) - 1,
		.cpus_milli = spec->limits.cpus_milli,
		.account_cpu = spec->limits.cpu_time_ms != 0,
	};
	cgroup_name(host, spec->id, &l->limits, &l->cgroup);
	int r = make_journal(l, spec, e);
	if (r >= 0)
		r = make_scratch(l, &spec->ids, e);
	if (r >= 0)
		r = attach_dir(spec, &dir, e);
	if (r >= 0)
		r = attach_git(spec, &git, e);
	if (r >= 0)
		r = attach_usr(spec, &usr, e);
	if (r >= 0)
		r = attach_layers(spec, &layers, e);
	if (r >= 0)
		r = attach_deps(spec, deps, e);
	if (r >= 0)
		r = attach_state(spec, &state, e);
	if (r >= 0)
		r = use_volume(l, spec, &volume, e);
	if (r >= 0 && l->cgroup.ops)
		r = cgroup_make_unified(&l->cgroup, &group, e);
	fds.extra[ATTACH_DIR - GUEST_EXTRA] = dir;
	fds.extra[ATTACH_USR - GUEST_EXTRA] = usr;
	fds.extra[ATTACH_VOLUME - GUEST_EXTRA] = volume;
	fds.extra[ATTACH_LAYERS - GUEST_EXTRA] = layers;
	fds.extra[ATTACH_STATE - GUEST_EXTRA] = state;
	fds.extra[ATTACH_GIT - GUEST_EXTRA] = git;
	fds.cgroup = group;
	if (r >= 0)
		r = sandbox_spawn(spec, &fds, &l->sb, e);
	for (unsigned i = 0; i < DEPS_GIVEN_MAX; i++)
		fd_close(&deps[i]);
	return r < 0 ? born(l, r, e) : 0;
}

int live_enter(struct live *l, const struct sandbox_spec *spec, struct err *e)
{
	int tasks[CGROUP_PARTS] = {FD_NONE, FD_NONE, FD_NONE, FD_NONE, FD_NONE};
	int r = give_ids_and_plan(l, spec, e);

	if (r >= 0 && l->cgroup.ops && !l->cgroup.adopted)
		r = cgroup_make(&l->cgroup, &l->limits, tasks, e);
	if (r >= 0)
		r = sandbox_proceed(&l->sb, AWAIT_CGROUP, tasks, e);
	for (int i = 0; i < CGROUP_PARTS; i++)
		fd_close(&tasks[i]);
	return born(l, r, e);
}

/* The guest is PID 1: when it is reaped, every process of the sandbox is gone. */
static bool reap_guest(struct live *l, struct live_end *end)
{
	struct pollfd pfd = {.fd = l->sb.pidfd, .events = POLLIN};
	struct err ignored = ERR_INIT;

	(void)sandbox_started(&l->sb, &ignored); /* it is being removed, born or not */
	if (l->sb.pid <= 0)
		return true;
	if (poll(&pfd, 1, 0) == 0) {
		sandbox_kill(&l->sb);
		cgroup_kill(&l->cgroup);
	}
	/* A process in uninterruptible sleep outlives SIGKILL; nobody waits for ever for it. */
	if (poll(&pfd, 1, end->hopeless ? 0 : QUARANTINE_MS) != 1)
		return false;
	while (wait4(l->sb.pid, NULL, __WALL, &end->rusage) < 0 && errno == EINTR)
		;
	return true;
}

bool live_reap(struct live *l, struct live_end *end)
{
	fd_close(&l->sb.control);
	bool gone = reap_guest(l, end);
	l->sb.pid = 0;
	l->reaped = true;
	if (!gone) {
		l->cgroup.ops = NULL;
		journal_close(&l->journal);
	}
	/* It takes as long as the removal, so only where it is shown or explains something. */
	if (l->cgroup.ops && end->count)
		l->cgroup.ops->usage(&l->cgroup, &end->usage);
	return gone;
}

bool live_remove(struct live *l, struct live_end *end)
{
	bool gone = l->reaped || live_reap(l, end);

	if (l->volume >= 0)
		volume_discard(l->volume);
	fd_close(&l->volume);
	fd_close(&l->sb.pidfd);
	/* What could not be removed stays written down for the next run. */
	if (l->cgroup.ops && cgroup_remove(&l->cgroup) < 0)
		journal_close(&l->journal);
	l->cgroup.ops = NULL;
	scope_leave(&l->scope);
	if (l->scratch[0] && remove_tree(l->scratch) < 0)
		journal_close(&l->journal);
	l->scratch[0] = '\0';
	journal_end(&l->journal);
	journal_close(&l->journal);
	return gone;
}

void live_sweep(const struct live *l)
{
	struct journal other = JOURNAL_INIT;
	struct err e = ERR_INIT;
	char dir[512], path[520];

	if (l->journal.dir >= 0) {
		(void)journal_sweep(&l->journal);
		return;
	}
	/* One that needs no journal itself looks into one that is there. */
	if (place_runtime(dir, sizeof(dir), &e) < 0)
		return;
	(void)snprintf(path, sizeof(path), "%s/live", dir);
	if (access(path, F_OK) == 0 && journal_open(dir, &other, &e) >= 0)
		(void)journal_sweep(&other);
	journal_close(&other);
}
