/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a run live: write down, make, clone, let the guest build while we set up control groups,
 * wait until the command's program is executed. And the way back: remove all of it.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>

#include "base/fd.h"
#include "engine/control.h"
#include "engine/run_int.h"
#include "kernel/remove.h"
#include "sandbox/attach.h"
#include "sandbox/hold.h"
#include "sandbox/scope.h"
#include "sandbox/volume.h"

#define QUARANTINE_MS 5000

uint64_t now_us(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail for this clock */
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static int make_journal(struct pinfold_run *run, struct err *e)
{
	char lines[4096], dir[512], scope[SCOPE_NAME_MAX];
	size_t n = 0;

	if (!run->cgroup.ops && !run->req.scope && !run->req.spec.ids.range && !run->scratch[0])
		return 0; /* nothing will be left on the host that could be left behind */
	for (int i = 0; i < CGROUP_PARTS; i++)
		if (run->cgroup.part[i][0])
			n += (size_t)snprintf(lines + n, sizeof(lines) - n, "cgroup %s\n",
					      run->cgroup.part[i]);
	if (run->scratch[0])
		n += (size_t)snprintf(lines + n, sizeof(lines) - n, "dir %s\n", run->scratch);
	if (run->req.scope) {
		scope_name(run->req.spec.id, scope);
		n += (size_t)snprintf(lines + n, sizeof(lines) - n, "scope %s\n", scope);
	}
	lines[n] = '\0';
	if (place_runtime(dir, sizeof(dir), e) < 0)
		return -ENOENT;
	int r = journal_open(dir, &run->journal, e);
	if (r == -ENOENT && place_make(dir, e) == 0)
		r = journal_open(dir, &run->journal, e);
	if (r < 0)
		return r;
	r = journal_begin(&run->journal, lines, e);
	if (r < 0)
		return r;
	if (run->req.spec.ids.range && !run->req.spec.ids.helper && HOLD_IDS) {
		run->req.spec.ids.uid_base += run->journal.slot * SANDBOX_IDS;
		run->req.spec.ids.gid_base += run->journal.slot * SANDBOX_IDS;
	}
	return 0;
}

static int make_pipe(int *ours, int *theirs, bool we_read, struct err *e)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0)
		return err_sys(e, "pipe");
	*ours = p[we_read ? 0 : 1];
	*theirs = p[we_read ? 1 : 0];
	if (fcntl(*ours, F_SETFL, O_NONBLOCK) < 0)
		return err_sys(e, "pipe");
	return 0;
}

/* The command's three descriptors: never the caller's own, which lead out. */
static int make_stdio(struct pinfold_run *run, int theirs[3], struct err *e)
{
	if (run->req.spec.pty || (run->req.flags & PINFOLD_NO_STDIN)) {
		theirs[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (theirs[0] < 0)
			return err_sys(e, "open /dev/null");
	} else if (make_pipe(&run->input, &theirs[0], false, e) < 0) {
		return -EMFILE;
	}
	for (int i = 0; i < 2; i++)
		if (make_pipe(&run->out[i], &theirs[1 + i], true, e) < 0)
			return -EMFILE;
	return 0;
}

static int give_ids_and_plan(struct pinfold_run *run, struct err *e)
{
	struct plan *plan = NULL;
	struct idmap map;
	int r = 0;

	if (run->req.spec.level == LEVEL_STRICT) {
		sandbox_idmap(&run->req.spec, &map);
		r = idmap_write(run->sb.pid, &map, e);
	}
	if (r >= 0)
		r = plan_new(&run->req.spec, &plan, e);
	if (r >= 0)
		r = sandbox_give_plan(&run->sb, plan, e);
	plan_free(plan);
	return r;
}

/* Clone first: the guest makes namespaces while we write its plan, and builds its tree while we
 * set up its control groups. */
static int make_sandbox(struct pinfold_run *run, struct sandbox_fds *fds, struct err *e)
{
	int tasks[CGROUP_PARTS] = {FD_NONE, FD_NONE, FD_NONE, FD_NONE, FD_NONE};
	bool own_group = run->cgroup.ops;
	int r = sandbox_spawn(&run->req.spec, fds, &run->sb, e);

	/* Before the ids: systemd moves a user's own processes only. And before the plan, which
	 * depends on what holds the limits. */
	if (r >= 0 && run->req.scope &&
	    scope_enter(&run->scope, &run->sb, run->req.spec.id, &run->cgroup_limits, &run->cgroup,
			e) < 0)
		r = request_lose_scope(&run->req, e);
	if (r >= 0)
		r = give_ids_and_plan(run, e);
	if (r >= 0 && own_group)
		r = cgroup_make(&run->cgroup, &run->cgroup_limits, tasks, e);
	if (r >= 0)
		r = sandbox_proceed(&run->sb, AWAIT_CGROUP, tasks, e);
	for (int i = 0; i < CGROUP_PARTS; i++)
		fd_close(&tasks[i]);
	/* Whatever else failed, this would be why. */
	struct err birth = ERR_INIT;
	int born = sandbox_started(&run->sb, &birth);
	if (born < 0)
		*e = birth;
	return born < 0 ? born : r;
}

/* Wait until the command runs, or the guest says why not. */
static int await_command(struct pinfold_run *run, struct err *e)
{
	for (;;) {
		struct control_event ev;
		int r = control_receive(run->sb.control, &ev, e);

		if (r < 0)
			return r;
		switch (ev.msg.kind) {
		case MSG_TERMINAL:
			run->terminal = take_fd(&ev.fd);
			break;
		case MSG_STARTED:
			run->started_us = ev.msg.value / 1000;
			run->listener = take_fd(&ev.fd);
			if (run->listener >= 0)
				notify_init(run->listener);
			return 0;
		case MSG_FAILED:
			return explain_failure(run, ev.msg.step, ev.msg.code, e);
		default:
			fd_close(&ev.fd);
			return err_set(e, ERR_INTERNAL, "unexpected message %u from the guest",
				       ev.msg.kind);
		}
	}
}

static int watch(struct pinfold_run *run, int fd, struct err *e)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};

	if (fd < 0)
		return 0;
	if (epoll_ctl(run->epoll, EPOLL_CTL_ADD, fd, &ev) < 0)
		return err_sys(e, "epoll");
	return 0;
}

/* With a terminal, its master side is standard input, output and error at once. */
static int use_terminal(struct pinfold_run *run, struct err *e)
{
	if (run->terminal < 0)
		return 0;
	fd_close(&run->out[0]);
	fd_close(&run->out[1]);
	if (fcntl(run->terminal, F_SETFL, O_NONBLOCK) < 0)
		return err_sys(e, "terminal");
	run->out[0] = fcntl(run->terminal, F_DUPFD_CLOEXEC, 3);
	run->input = fcntl(run->terminal, F_DUPFD_CLOEXEC, 3);
	return run->out[0] < 0 || run->input < 0 ? err_sys(e, "terminal") : 0;
}

static int make_loop(struct pinfold_run *run, struct err *e)
{
	run->epoll = epoll_create1(EPOLL_CLOEXEC);
	run->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (run->epoll < 0 || run->timer < 0)
		return err_sys(e, "event loop");
	if (run->cgroup.ops)
		run->oom = run->cgroup.ops->watch_oom(&run->cgroup);
	const int fds[] = {run->sb.control, run->sb.pidfd, run->out[0], run->out[1],
			   run->listener,   run->timer,	   run->oom};
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (watch(run, fds[i], e) < 0)
			return -EMFILE;
	return 0;
}

static int make_volume(struct pinfold_run *run, int *ret_mount, struct err *e)
{
	const struct sandbox_spec *spec = &run->req.spec;
	char dir[512];

	if (place_data(dir, sizeof(dir), e) < 0 || place_make(dir, e) < 0)
		return err_wrap(e, "--disk");
	int r = volume_make(dir, spec->limits.disk_bytes, spec->ids.uid_base, spec->ids.gid_base,
			    ret_mount, e);
	if (r < 0)
		return r;
	run->volume = openat(*ret_mount, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return run->volume < 0 ? err_sys(e, "--disk") : 0;
}

/* One that is only for what tmpfs lacks can be done without. */
static int use_volume(struct pinfold_run *run, int *ret_mount, struct err *e)
{
	int r = make_volume(run, ret_mount, e);

	return r < 0 && request_lose_volume(&run->req) ? 0 : r;
}

static int make_all(struct pinfold_run *run, struct err *e)
{
	struct sandbox_fds fds = {
		{FD_NONE, FD_NONE, FD_NONE}, {FD_NONE, FD_NONE, FD_NONE}, FD_NONE};
	auto_close int dir = FD_NONE, usr = FD_NONE, volume = FD_NONE;

	run->cgroup_limits = (struct cgroup_limits){
		.memory_bytes = run->req.spec.limits.memory_bytes,
		.pids = run->req.spec.limits.pids,
		.cpus_milli = run->req.spec.limits.cpus_milli,
		.account_cpu = run->req.spec.limits.cpu_time_ms != 0,
	};
	cgroup_name(&run->req.cgroups, run->req.spec.id, &run->cgroup_limits, &run->cgroup);
	int r = scratch_name(run, e);
	if (r >= 0)
		r = make_journal(run, e);
	if (r >= 0)
		r = scratch_make(run, e);
	if (r >= 0)
		r = attach_dir(&run->req.spec, &dir, e);
	if (r >= 0)
		r = attach_usr(&run->req.spec, &usr, e);
	if (r >= 0 && run->req.spec.on_volume)
		r = use_volume(run, &volume, e);
	if (r >= 0)
		r = make_stdio(run, fds.stdio, e);
	if (r >= 0 && run->cgroup.ops)
		r = cgroup_make_unified(&run->cgroup, &fds.cgroup, e);
	fds.extra[ATTACH_DIR - GUEST_EXTRA] = dir;
	fds.extra[ATTACH_USR - GUEST_EXTRA] = usr;
	fds.extra[ATTACH_VOLUME - GUEST_EXTRA] = volume;
	if (r >= 0)
		r = make_sandbox(run, &fds, e);
	for (int i = 0; i < 3; i++)
		fd_close(&fds.stdio[i]);
	fd_close(&fds.cgroup);
	return r;
}

/* A run that needs no journal itself looks into one that is there. */
static void sweep_leftovers(struct pinfold_run *run)
{
	struct journal other = JOURNAL_INIT;
	struct err e = ERR_INIT;
	char dir[512], live[520];

	if (run->journal.dir >= 0) {
		(void)journal_sweep(&run->journal);
		return;
	}
	if (place_runtime(dir, sizeof(dir), &e) < 0)
		return;
	(void)snprintf(live, sizeof(live), "%s/live", dir);
	if (access(live, F_OK) == 0 && journal_open(dir, &other, &e) >= 0)
		(void)journal_sweep(&other);
	journal_close(&other);
}

int run_start(struct pinfold_run *run, struct err *e)
{
	int r = make_all(run, e);

	if (r >= 0)
		r = await_command(run, e);
	if (r >= 0)
		r = use_terminal(run, e);
	if (r >= 0)
		r = make_loop(run, e);
	if (r < 0)
		return r;
	run->state = RUN_RUNNING;
	/* The guest's clock is ours, but its word is not taken for more than a time gone by. */
	if (run->started_us > now_us() || now_us() - run->started_us > 60000000)
		run->started_us = now_us();
	run->deadline_us = HOLD_TIME ? run->started_us + run->req.spec.limits.time_ms * 1000 : 0;
	if (!run->cgroup.ops || run->req.spec.limits.cpu_time_ms)
		run->poll_us = run->started_us + 5000;
	run_arm_timer(run);
	/* While the command runs: look after what earlier runs could not. */
	sweep_leftovers(run);
	if (run->req.flags & PINFOLD_CAPTURE)
		artifacts_sweep();
	return 0;
}

/* The guest is PID 1: when it is reaped, every process of the sandbox is gone. */
static bool reap_guest(struct pinfold_run *run)
{
	int patience = run->gave_up ? 0 : QUARANTINE_MS;
	struct pollfd pfd = {.fd = run->sb.pidfd, .events = POLLIN};

	if (run->sb.pid <= 0)
		return true;
	if (poll(&pfd, 1, 0) == 0) {
		sandbox_kill(&run->sb);
		cgroup_kill(&run->cgroup);
	}
	/* A process in uninterruptible sleep outlives SIGKILL; nobody waits for ever for it. */
	if (poll(&pfd, 1, patience) != 1)
		return false;
	while (wait4(run->sb.pid, NULL, __WALL, &run->rusage) < 0 && errno == EINTR)
		;
	run->sb.pid = 0;
	return true;
}

/* Left written down, with its ids taken, until a later run finds it gone. */
static void quarantine(struct pinfold_run *run)
{
	struct err e = ERR_INIT;

	(void)err_set(&e, ERR_INTERNAL,
		      "sandbox %s cannot be killed: a process of it hangs in the kernel",
		      run->req.spec.id);
	(void)err_remedy(&e, "its resources are freed by a later run once the process is gone");
	run_fail(run, &e, 125);
	run->cgroup.ops = NULL;
	run->sb.pid = 0;
	journal_close(&run->journal);
}

void run_clean_host(struct pinfold_run *run)
{
	fd_close(&run->sb.control);
	if (!reap_guest(run))
		quarantine(run);
	if (run->volume >= 0)
		volume_discard(run->volume);
	fd_close(&run->volume);
	fd_close(&run->sb.pidfd);
	fd_close(&run->listener);
	fd_close(&run->oom);
	if (run->cgroup.ops) {
		/* Read where it is shown or explains something; it takes as long as the removal. */
		bool quiet = !(run->req.flags & PINFOLD_CAPTURE) && run->have_status &&
			     run->wait_status == 0;

		if (!quiet)
			run->cgroup.ops->usage(&run->cgroup, &run->usage);
		int r = cgroup_remove(&run->cgroup);
		run->cgroup.ops = NULL;
		/* What could not be removed stays written down for the next run. */
		if (r < 0)
			journal_close(&run->journal);
	}
	scope_leave(&run->scope);
	if (run->scratch[0] && remove_tree(run->scratch) < 0)
		journal_close(&run->journal);
	run->scratch[0] = '\0';
	journal_end(&run->journal);
	journal_close(&run->journal);
}
