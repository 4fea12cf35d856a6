/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the filter's state of this process and of a thread, and tries to get rid of it.
 *	filter		one line, for the parent that compares them
 *	filter all	itself, children by every way, threads; and the doors
 */
#include "B-doors.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

static void show(const char *who, const char *path)
{
	char line[256];
	int mode = -1, filters = -1, nnp = -1;
	FILE *f = fopen(path, "re");

	while (f && fgets(line, sizeof(line), f)) {
		(void)!sscanf(line, "Seccomp: %d", &mode);
		(void)!sscanf(line, "Seccomp_filters: %d", &filters);
		(void)!sscanf(line, "NoNewPrivs: %d", &nnp);
	}
	if (f)
		fclose(f);
	printf("state %s %d %d %d\n", who, mode, filters, nnp);
	fflush(stdout);
}

static void *thread_main(void *arg)
{
	show("thread", "/proc/thread-self/status");
	return arg;
}

static void run(const char *who, const char *path, int flags)
{
	pid_t pid = flags & CLONE_VFORK ? vfork()
					: (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0) {
		execl(path, path, who, NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

/* A filter that allows all, put on top, changes nothing below it. */
static void try_more_filters(void)
{
	struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog prog = {1, code};

	door("strict-off", prctl(PR_SET_SECCOMP, SECCOMP_MODE_DISABLED, 0, 0, 0));
	door("listener", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				 SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog));
	works("own-filter", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == 0);
	filtered("unshare-under-own-filter", unshare(CLONE_NEWUSER));
	works("sync-threads",
	      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &prog) == 0);
	filtered("unshare-after-sync", unshare(CLONE_NEWUSER));
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 2 || strcmp(argv[1], "all") != 0) {
		show(argc > 1 ? argv[1] : "self", "/proc/self/status");
		return 0;
	}
	show("first", "/proc/self/status");
	show("init", "/proc/1/status");
	run("static", "/work/B24-filter-is-inherited", 0);
	run("setuid", "/work/setuid", 0);
	run("vfork", "/work/B24-filter-is-inherited", CLONE_VFORK);
	run("sibling", "/work/B24-filter-is-inherited", CLONE_FILES | CLONE_FS);
	if (!pthread_create(&thread, NULL, thread_main, NULL))
		pthread_join(thread, NULL);
	door("no-new-privs-off", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
	try_more_filters();
	return 0;
}
