/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes orphans, one after the other, far more than there may be processes: each must be reaped by
 * whoever adopts it, or fork fails soon. Ends when none is left, and says how many there were.
 */
#include "attack.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define ORPHANS 1000
#define LIVING 14 /* of --pids 16 */

/* Forks a child that leaves a grandchild and exits. False: no process could be had. */
static int orphan(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		pid_t grandchild = fork();

		_exit(grandchild < 0 ? 1 : 0);
	}
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* An orphan that is just being reaped may fill the last place for a moment. */
static int orphan_soon(void)
{
	long end = now_ms() + 2000;

	while (!orphan()) {
		if (now_ms() > end)
			return 0;
		sched_yield();
	}
	return 1;
}

/* How many can live at once. Ends them again. */
static int living(int wanted)
{
	pid_t live[LIVING];
	long end = now_ms() + 2000;
	int n = 0;

	while (n < wanted && now_ms() < end) {
		live[n] = fork();
		if (live[n] == 0) {
			pause();
			_exit(0);
		}
		if (live[n] > 0)
			n++;
		else
			sched_yield();
	}
	for (int i = 0; i < n; i++)
		(void)kill(live[i], SIGKILL);
	return n;
}

/* Who adopts an orphan: the init of the sandbox, which is 1. */
static void adopted(void)
{
	char text[32];
	int parent = -1, pipe_fds[2];

	if (pipe(pipe_fds) < 0)
		return;
	pid_t child = fork();
	if (child == 0) {
		child = getpid();
		if (fork() == 0) {
			while (getppid() == child)
				sched_yield();
			parent = getppid();
			_exit(write(pipe_fds[1], &parent, sizeof(parent)) < 0);
		}
		_exit(0);
	}
	if (read(pipe_fds[0], &parent, sizeof(parent)) < 0)
		parent = -1;
	(void)waitpid(child, NULL, 0);
	(void)snprintf(text, sizeof(text), "%d", parent);
	door_if("adopted-outside", parent != 1, text);
}

int main(void)
{
	char text[32];
	int made = 0;

	adopted();

	while (made < ORPHANS && orphan_soon())
		made++;
	(void)snprintf(text, sizeof(text), "%d", made);
	door_if("orphans-stay", made < ORPHANS, text);

	/* With every place free again as many children can live at once as at the start. */
	int n = living(LIVING);
	(void)snprintf(text, sizeof(text), "%d", n);
	door_if("places-lost", n < LIVING, text);
	return 0;
}
