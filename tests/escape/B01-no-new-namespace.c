/* SPDX-License-Identifier: Apache-2.0 */
/* Tries every call that makes a namespace, with and without a user namespace around it. */
#include "B-doors.h"
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>

static const struct kind {
	const char *name;
	unsigned flag;
} kinds[] = {
	{"user", CLONE_NEWUSER},     {"mnt", CLONE_NEWNS},    {"pid", CLONE_NEWPID},
	{"net", CLONE_NEWNET},	     {"ipc", CLONE_NEWIPC},   {"uts", CLONE_NEWUTS},
	{"cgroup", CLONE_NEWCGROUP}, {"time", CLONE_NEWTIME},
};

static void try_unshare(long i)
{
	char name[64];

	snprintf(name, sizeof(name), "unshare-%s", kinds[i].name);
	filtered(name, unshare((int)kinds[i].flag));
	snprintf(name, sizeof(name), "unshare-user+%s", kinds[i].name);
	filtered(name, unshare((int)(kinds[i].flag | CLONE_NEWUSER)));
}

static void report_clone(const char *prefix, const char *kind, long pid, int must_miss)
{
	char name[64];
	int saved = errno;

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid((pid_t)pid, NULL, __WALL);
	snprintf(name, sizeof(name), "%s-%s", prefix, kind);
	errno = saved;
	if (must_miss)
		missing(name, pid);
	else
		filtered(name, pid);
}

static void try_clone(const struct kind *k)
{
	/* In clone the bit of CLONE_NEWTIME belongs to the exit signal. */
	if (k->flag != CLONE_NEWTIME)
		report_clone("clone", k->name, syscall(SYS_clone, k->flag | SIGCHLD, 0, 0, 0, 0),
			     0);
	struct clone_args args = {.flags = k->flag | CLONE_NEWUSER, .exit_signal = SIGCHLD};

	report_clone("clone3", k->name, syscall(SYS_clone3, &args, sizeof(args)), 1);
}

static void *thread_main(void *arg)
{
	return arg;
}

/* libc tries clone3 first for the thread and the spawn. */
static void try_ordinary(void)
{
	struct clone_args plain = {.exit_signal = SIGCHLD};
	char *argv[] = {"true", NULL};
	pthread_t thread;
	int status = -1;
	pid_t pid = -1;

	report_clone("clone3", "plain", syscall(SYS_clone3, &plain, sizeof(plain)), 1);
	works("thread", pthread_create(&thread, NULL, thread_main, NULL) == 0 &&
				pthread_join(thread, NULL) == 0);
	works("spawn", posix_spawn(&pid, "/usr/bin/true", NULL, NULL, argv, NULL) == 0 &&
			       waitpid(pid, &status, 0) == pid && status == 0);
	works("unshare-files", unshare(CLONE_FILES | CLONE_FS) == 0);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		in_child(try_unshare, (long)i);
		try_clone(&kinds[i]);
	}
	try_ordinary();
	return 0;
}
