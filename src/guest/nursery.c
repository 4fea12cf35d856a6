/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the commands of a sandbox that lives are born. A Landlock domain is its own world: who is in
 * another can be neither signalled nor traced. Were each command to restrict itself, `pkill` in one
 * could not end the server that another started. So a thread of ours restricts itself, once, and every
 * command is its child in all but name: the parent is the process, which reaps as ever.
 *
 * PID 1 itself stays outside, and so does its file server: no command can end those.
 */
#include "base/clone.h"
#include "guest/futex.h"
#include "guest/guest.h"
#include "kernel/seccomp.h"

static struct {
	uint32_t asked, answered; /* how often */
	int there; /* 1: the thread is and has restricted itself; -errno: it could not */
	int ruleset;
	guest_start_fn *start;
	void *arg;
	long result;
	_Alignas(16) char stack[16384]; /* a child before its exec is on it, too */
} nursery;

static void thread_main(void *unused)
{
	uint32_t served = 0;

	(void)unused;
	long r = guest_restrict(nursery.ruleset);
	nursery.there = r < 0 ? (int)r : 1;
	futex_count(&nursery.answered);
	while (r >= 0) {
		futex_wait_while(&nursery.asked, served);
		nursery.result = nursery.start(nursery.arg);
		served++;
		futex_count(&nursery.answered);
	}
	for (;;)
		(void)sys1(SYS_exit, 0); /* this thread alone */
}

int guest_nursery_open(const struct guest *g)
{
	/* Our descriptors are its children's until they close them, so the table is one. */
	const unsigned long flags =
		CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
	uint32_t before = nursery.answered;

	if (nursery.there)
		return nursery.there;
	nursery.ruleset = g->ruleset;
	long r = sys_clone_thread(flags, nursery.stack + sizeof(nursery.stack), thread_main);
	if (r < 0)
		return (int)r; /* perhaps the next time */
	futex_wait_while(&nursery.answered, before);
	return nursery.there;
}

long guest_nursery_start(guest_start_fn *start, void *arg)
{
	uint32_t before = nursery.answered;

	nursery.start = start;
	nursery.arg = arg;
	futex_count(&nursery.asked);
	futex_wait_while(&nursery.answered, before);
	return nursery.result;
}
