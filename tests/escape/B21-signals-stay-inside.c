/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends signals to everybody.
 *	signals init [PID...]	all signals to PID 1 in every way, then to these of the host
 *	signals all		SIGKILL to all that it can see
 *	signals child		the same from a child
 *	signals group		SIGKILL to its own process group
 *	signals thread-exit	the first thread ends, another one goes on and exits
 * Without a pid namespace it stops before it sends anything: then these would be other people's.
 */
#include "B-doors.h"
#include <pthread.h>
#include <signal.h>
#include <time.h>

static void try_signal(int pidfd, int signo)
{
	siginfo_t info = {.si_signo = signo, .si_code = SI_QUEUE};

	/* They may succeed: PID 1 has no handler, so the kernel drops what comes from inside. */
	kill(1, signo);
	syscall(SYS_tkill, 1, signo);
	syscall(SYS_tgkill, 1, 1, signo);
	syscall(SYS_pidfd_send_signal, pidfd, signo, NULL, 0);
	syscall(SYS_rt_sigqueueinfo, 1, signo, &info);
	syscall(SYS_rt_tgsigqueueinfo, 1, 1, signo, &info);
}

/* Is PID 1 there, and does it reap? */
static void check_init(void)
{
	const struct timespec step = {0, 1000000};
	char state = '?', path[64];
	FILE *f = fopen("/proc/1/stat", "re");
	pid_t pid, orphan;
	int pipes[2];

	if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = '?';
	door_if("init-stopped", state != 'S' && state != 'R', (char[]){state, 0});
	if (f)
		fclose(f);
	if (pipe(pipes))
		return;
	pid = fork();
	if (pid == 0) {
		orphan = fork();
		if (orphan == 0)
			_exit(0);
		if (write(pipes[1], &orphan, sizeof(orphan)) < 0)
			_exit(1);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	if (read(pipes[0], &orphan, sizeof(orphan)) != sizeof(orphan))
		return;
	snprintf(path, sizeof(path), "/proc/%d", (int)orphan);
	for (int i = 0; i < 2000 && access(path, F_OK) == 0; i++)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &step, NULL);
	door_if("init-deaf", access(path, F_OK) == 0, "");
}

static void try_init(int argc, char **argv)
{
	int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);

	for (int signo = 1; signo <= 64; signo++)
		try_signal(pidfd, signo);
	check_init();
	for (int i = 2; i < argc; i++) {
		pid_t pid = (pid_t)number(argv[i]);

		/* EPERM would mean that it can be seen. */
		if (kill(pid, SIGKILL) == 0 || errno != ESRCH || kill(-pid, SIGKILL) == 0 ||
		    errno != ESRCH || syscall(SYS_tgkill, pid, pid, SIGKILL) == 0 || errno != ESRCH)
			door_if("host-process", 1, argv[i]);
	}
	door_if("host-process", 0, "");
}

/* Children that must die: some in sessions of their own. */
static void try_all(void)
{
	pid_t child[8];

	for (int i = 0; i < 8; i++) {
		child[i] = fork();
		if (child[i] == 0) {
			if (i % 2)
				setsid();
			for (;;)
				pause();
		}
	}
	kill(-1, SIGKILL);
	for (int i = 0; i < 8; i++)
		waitpid(child[i], NULL, 0);
	check_init();
	puts("alive");
}

static void kill_all(long unused)
{
	(void)unused;
	kill(-1, SIGKILL);
}

static void *late(void *first)
{
	pthread_join(*(pthread_t *)first, NULL);
	exit(7);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	static pthread_t first;
	pthread_t thread;

	first = pthread_self();
	door_if("pid-namespace", getppid() != 1, "");
	if (getppid() != 1)
		return 0;
	if (!strcmp(what, "init"))
		try_init(argc, argv);
	else if (!strcmp(what, "all"))
		try_all();
	else if (!strcmp(what, "child"))
		in_child(kill_all, 0);
	else if (!strcmp(what, "group"))
		kill(0, SIGKILL);
	else if (!strcmp(what, "thread-exit") && !pthread_create(&thread, NULL, late, &first))
		pthread_exit(NULL);
	return 0;
}
