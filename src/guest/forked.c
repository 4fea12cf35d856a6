/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fork of the zygote goes into a sandbox that waits. Called by driver.py, through the loader's
 * object.
 *
 * Where we are, process by process, each a copy of the one before:
 *
 *	zygote	the host's pid namespace, no capability; a mount namespace of its own with a tree like a
 *		sandbox's. Of root's daemon it is in the host's user namespace, with uid 0; of an ordinary
 *		user's in a pool of its own, with the one id that is his. It never runs anybody's program.
 *	A	loader_enter(): joins the namespaces of a guest. Nothing stands against that: who has
 *		the uid that made a user namespace, one level above it, may do everything in it.
 *	B	the first in the sandbox's pid namespace and its control groups; ends at once, so that
 *	C	belongs to the guest. loader_confine(): gives up what the guest gave up, by the guest's
 *		own plan, and waits there for a program.
 *
 * There is no hostile code in that sandbox before C waits, and no right left in C then.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/sys.h"
#include "guest/forked.h"
#include "guest/guest.h"

/* Out of the way of the number that the command has; the guest's thread had it before. */
#define PASSING_PID 250
#define JOINED                                                                                     \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)

/* Its guest ends with the warden, and it with its guest. Nobody looks into it. */
void zygote_begin(void)
{
	(void)sys5(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)sys5(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
}

long loader_enter(int guest, int time, int group)
{
	int pid = PASSING_PID;
	struct clone_args args = {
		.flags = group >= 0 ? CLONE_INTO_CGROUP : 0,
		.cgroup = group >= 0 ? (uint64_t)group : 0,
		.exit_signal = SIGCHLD,
		.set_tid = (uint64_t)(uintptr_t)&pid,
		.set_tid_size = 1,
	};
	long r = sys2(SYS_setns, guest, JOINED);

	if (r >= 0)
		r = sys2(SYS_setns, time, CLONE_NEWTIME);
	if (r >= 0)
		r = sys2(SYS_clone3, &args, sizeof(args));
	if (r != 0)
		return r;
	/* Only now: from within the namespace the way into the group would not be seen. */
	return sys2(SYS_setns, guest, CLONE_NEWCGROUP) < 0 ? -EPERM : 0;
}

/* What is kept of the zygote: nothing but memory. */
static int clean(int sock)
{
	long null = sys3(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC);
	long r = null;

	for (int i = 0; i < 3 && r >= 0; i++)
		r = sys3(SYS_dup3, null, i, 0);
	if (r >= 0)
		r = sys3(SYS_dup3, sock, DRIVER_FD, O_CLOEXEC);
#ifndef DROP_FORK_FDS
	if (r >= 0)
		r = sys3(SYS_close_range, 3, DRIVER_FD - 1, 0);
	if (r >= 0)
		r = sys3(SYS_close_range, DRIVER_FD + 1, RULESET_FD - 1, 0);
	if (r >= 0)
		r = sys3(SYS_close_range, RULESET_FD + 1, ~0u, 0);
#endif
	return (int)r;
}

/* The steps that concern a process; those before made the sandbox. */
static int give_up_rights(struct guest *g)
{
#ifdef DROP_FORK_RIGHTS
	return 0;
#endif
	/* Our own entry in /proc is root's otherwise, and a step writes to it. Nobody's program is here yet. */
	(void)sys5(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
	for (uint32_t i = 0; i < g->plan->n_steps; i++) {
		const struct plan_step *step = &g->plan->steps[i];
		long r = 0;

		switch (step->op) {
		case PLAN_BECOME:
			r = guest_identity_step(g, step);
			if (r >= 0) /* that has changed it */
				r = sys5(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
			break;
		case PLAN_KEYRING:
		case PLAN_OOM_SCORE:
		case PLAN_BOUNDING:
		case PLAN_RLIMIT:
		case PLAN_NO_NEW_PRIVS:
		case PLAN_CAPS:
		case PLAN_SECCOMP: r = guest_identity_step(g, step); break;
		case PLAN_NO_DUMP: /* the guest's alone; a command can be traced by its own */
			r = sys5(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
			break;
		default: break;
		}
		if (r < 0)
			return (int)r;
	}
	return 0;
}

static const struct plan_head *take_plan(int sock, int *ret_ruleset)
{
	struct msg_host msg;
	int fds[MSG_FDS_MAX];
	struct stat st;
	long n = guest_receive_from(sock, &msg, fds, 0);

	if (n < 1 || n > 2 || msg.kind != MSG_PLAN || sys2(SYS_fstat, fds[0], &st) < 0)
		return NULL;
	*ret_ruleset = n == 2 ? fds[1] : -1;
	long p = sys6(SYS_mmap, 0, st.st_size, PROT_READ, MAP_PRIVATE, fds[0], 0);
	return p < 0 && p > -4096 ? NULL : (const struct plan_head *)p;
}

void loader_touch(unsigned long start, unsigned long size)
{
	(void)sys3(SYS_madvise, start, size, MADV_POPULATE_READ); /* or it is slower */
}

int loader_confine(int sock)
{
	static struct guest g = {.listener = -1, .ruleset = -1};
	uint64_t none = 0;
	int ruleset = -1;
	long r;

	g.plan = take_plan(sock, &ruleset);
	if (!g.plan)
		return -EPROTO;
	if (ruleset >= 0 && sys3(SYS_dup3, ruleset, RULESET_FD, O_CLOEXEC) < 0)
		return -EBADF;
	r = clean(sock);
	if (r >= 0)
		r = sys0(SYS_setsid);
	if (r >= 0)
		r = give_up_rights(&g);
	if (r >= 0 && g.files) {
		const struct rlimit limit = {g.files, g.files};

		r = sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, NULL);
	}
	if (r >= 0)
		r = sys1(SYS_chdir, plan_str(g.plan, g.plan->workdir));
#ifdef DROP_FORK_LANDLOCK
	ruleset = -1;
#endif
	if (r >= 0 && ruleset >= 0)
		r = guest_restrict(RULESET_FD);
	(void)sys1(SYS_close, RULESET_FD);
	(void)sys1(SYS_umask, 022);
	(void)sys4(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none));
	(void)sys2(SYS_munmap, g.plan, g.plan->size);
	return r < 0 ? (int)r : g.listener < 0 ? 0 : g.listener;
}
