/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/userns.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clone.h"
#include "base/fd.h"
#include "base/sys.h"

/* Without instrumentation: what a sanitizer notes about a child's stack would outlive it. */
#define IN_CHILD __attribute__((noinline, no_sanitize("address", "undefined", "thread")))

/* A child with a stack of its own on our memory. It copies nothing, which takes longer than all else here. */
static long clone_child(uint64_t flags, void *stack, size_t size, clone_fn *fn, void *arg)
{
	struct clone_args args = {
		.flags = flags | CLONE_VM,
		.stack = (uint64_t)(uintptr_t)stack,
		.stack_size = size,
		.exit_signal = SIGCHLD,
	};
	sigset_t all, old;

	/* A handler must not run in the child: it would run on our memory. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	long pid = sys_clone_call(&args, fn, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return pid;
}

static void reap(long pid)
{
	while (pid > 0 && waitpid((pid_t)pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}

/* Where it is: our memory, a stack of its own, a new user namespace. It is there until the other end of
 * `lifeline` is closed: by us, or by the kernel when we die. */
IN_CHILD static void holder_main(void *arg)
{
	const int *lifeline = arg;
	char c;

	(void)sys1(SYS_close, lifeline[1]);
	(void)sys3(SYS_read, lifeline[0], &c, 1);
	for (;;)
		(void)sys1(SYS_exit_group, 0);
}

int userns_make(const struct idmap *map, struct err *e)
{
	_Alignas(16) char stack[4096];
	char path[64];
	int lifeline[2];

	if (pipe2(lifeline, O_CLOEXEC) < 0)
		return err_sys(e, "pipe");
	long pid = clone_child(CLONE_NEWUSER, stack, sizeof(stack), holder_main, lifeline);
	close(lifeline[0]);
	int fd = -EAGAIN;
	if (pid < 0) {
		errno = (int)-pid;
		fd = err_sys(e, "make a user namespace");
	} else {
		fd = idmap_write((pid_t)pid, map, e);
	}
	if (fd >= 0) {
		(void)snprintf(path, sizeof(path), "/proc/%ld/ns/user", pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			fd = err_sys(e, "open %s", path);
	}
	close(lifeline[1]);
	reap(pid);
	return fd;
}

#define INSIDE_STACK 65536u

struct inside {
	int userns;
	userns_fn *fn;
	void *arg;
	struct err *e;
	int result;
};

IN_CHILD static void inside_main(void *arg)
{
	struct inside *in = arg;
	long r = sys2(SYS_setns, in->userns, CLONE_NEWUSER);

	in->result = r < 0 ? (int)r : in->fn(in->arg, in->e);
	for (;;)
		(void)sys1(SYS_exit_group, 0);
}

int userns_inside(int userns, userns_fn *fn, void *arg, struct err *e)
{
	struct inside in = {.userns = userns, .fn = fn, .arg = arg, .e = e, .result = -ECHILD};
	char *stack = aligned_alloc(16, INSIDE_STACK);

	if (!stack)
		return err_sys(e, "enter a user namespace");
	/* CLONE_VFORK: we are gone until it is, for it has our errno, too. */
	long pid = clone_child(CLONE_VFORK | CLONE_FILES, stack, INSIDE_STACK, inside_main, &in);
	reap(pid);
	free(stack);
	if (pid < 0)
		in.result = (int)pid;
	if (in.result < 0 && !e->text[0]) {
		errno = -in.result;
		return err_sys(e, "enter a user namespace");
	}
	return in.result;
}
