/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals to every process of the sandbox, in one call: a process that forks meanwhile fails to
 * fork, where a walk over descendants loses against a storm of forks.
 *
 * In a pid namespace kill(-1) reaches the sandbox and nobody else. Without one (level `landlock`)
 * it would reach all that the user runs, were it not for a Landlock domain of the guest's own that
 * scopes signals. That it holds is not remembered but asked of the kernel before every call. The
 * witness is a child from before the domain, with our ids, dead, and not waited for until the end:
 * its number is nobody else's, and we could signal it before (the step fails otherwise). If we no
 * longer may, the scope is in force, and no process can leave one. If we still may, nobody is
 * signalled, and the host side ends what it can reach.
 */
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>

#include "base/sys.h"
#include "guest/guest.h"

#define SCOPE_SIGNAL (1ULL << 1) /* linux/landlock.h has it from 6.12 on */

static int is_scoped(const struct guest *g)
{
	return g->witness > 1 && sys2(SYS_kill, g->witness, 0) == -EPERM;
}

/* Without an exit signal: wait4() passes over it unless it is asked for such children. */
static long make_witness(void)
{
	long pid = sys2(SYS_clone, 0, 0);

	if (pid == 0)
		guest_end(0);
	return pid;
}

/* The command gets a domain of its own below this one: we reach it, it does not reach us. */
static long scope_signals(void)
{
	const struct {
		uint64_t fs, net, scoped;
	} attr = {.scoped = SCOPE_SIGNAL};
	long fd = sys3(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);

	if (fd < 0)
		return fd;
	long r = 0;
#ifndef DROP_SCOPE
	r = guest_restrict((int)fd);
#endif
	(void)sys1(SYS_close, fd);
	return r;
}

int guest_scope_step(struct guest *g)
{
	long witness = make_witness();

	if (witness < 0)
		return (int)witness;
	long r = sys2(SYS_kill, witness, 0);
	if (r == 0)
		r = scope_signals();
	g->witness = r == 0 ? (int)witness : 0;
	if (r < 0)
		return (int)r;
	return is_scoped(g) ? 0 : -ENOTRECOVERABLE;
}

static __attribute__((noinline, noreturn)) void kill_as_user(int pid, int sig)
{
	const long user = PLAN_USER;

	if (sys3(SYS_setresuid, user, user, user) >= 0)
		(void)sys2(SYS_kill, pid, sig); /* nobody is left, or he is root's */
	guest_end(0);
}

/* Root in here has no right over others' processes, but can become them: in a child, because we
 * would lose what ties us to who made us. */
void guest_kill(const struct guest *g, int pid, int sig)
{
	(void)sys2(SYS_kill, pid, sig); /* ESRCH: nobody is left */
	if (!g->users)
		return;
	long child = sys2(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0);
	if (child == -EINVAL) /* as in command.c */
		child = sys2(SYS_clone, CLONE_VFORK | SIGCHLD, 0);
	if (child == 0)
		kill_as_user(pid, sig);
}

void guest_signal_all(const struct guest *g, int sig)
{
	int all = -1;

#ifdef DROP_KILL_ALL
	all = g->command;
#endif
	if (!(g->plan->flags & PLAN_HOST_LEVEL) || is_scoped(g))
		guest_kill(g, all, sig);
}

void guest_scope_end(struct guest *g)
{
	if (g->witness > 1)
		(void)sys4(SYS_wait4, g->witness, NULL, __WALL, NULL);
	g->witness = 0;
}
