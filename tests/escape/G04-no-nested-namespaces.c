/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Namespaces are memory of the kernel that no limit of processes counts: a flood of them, nested or
 * side by side, by every call that makes one.
 */
#include "attack.h"

#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>

static const struct {
	const char *name;
	int flag;
} kinds[] = {
	{"user", CLONE_NEWUSER},     {"net", CLONE_NEWNET}, {"pid", CLONE_NEWPID},
	{"mnt", CLONE_NEWNS},	     {"ipc", CLONE_NEWIPC}, {"uts", CLONE_NEWUTS},
	{"cgroup", CLONE_NEWCGROUP},
};

static void try_unshare(const char *name, int flags)
{
	char door_name[64];
	pid_t pid = fork();

	if (pid == 0) {
		snprintf(door_name, sizeof(door_name), "unshare-%s", name);
		door(door_name, unshare(flags));
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void try_clone(const char *name, int flags)
{
	struct clone_args args = {.flags = (uint64_t)flags, .exit_signal = SIGCHLD};
	char door_name[64];
	long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	snprintf(door_name, sizeof(door_name), "clone-%s", name);
	door(door_name, pid);
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		_exit(0);
	snprintf(door_name, sizeof(door_name), "clone3-%s", name);
	door(door_name, pid);
	while (wait(NULL) > 0)
		;
}

/* How many can be had at once, up to a number that does no harm. */
static void flood(void)
{
	int depth = 0;

	while (depth < 40 && unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0)
		depth++;
	errno = EPERM;
	door("flood", depth ? depth : -1);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		try_unshare(kinds[i].name, kinds[i].flag);
		try_unshare("with-user", kinds[i].flag | CLONE_NEWUSER);
		try_clone(kinds[i].name, kinds[i].flag);
	}
	try_unshare("time", CLONE_NEWTIME);
	flood();
	return 0;
}
