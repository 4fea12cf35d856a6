/* SPDX-License-Identifier: Apache-2.0 */
/*
 * G03-process-bombs processes|threads MOST: starts as many as it can, at most MOST, all alive at
 * the same time, for long enough to be seen. Prints `had N` and the error that stopped it.
 */
#include "attack.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

static void *idle(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static int one_process(void)
{
	pid_t pid = fork();

	if (pid == 0)
		(void)idle(NULL);
	return pid < 0 ? errno : 0;
}

static int one_thread(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	return pthread_create(&thread, &attr, idle, NULL);
}

int main(int argc, char **argv)
{
	long most = argc > 2 ? strtol(argv[2], NULL, 10) : 0, had = 0;
	const struct timespec while_seen = {0, 200 * 1000 * 1000};
	int error = 0;

	while (had < most && !error) {
		error = strcmp(argv[1], "threads") ? one_process() : one_thread();
		had += !error;
	}
	/* With ourselves. */
	printf("had %ld %s\n", had + 1, error ? strerrorname_np(error) : "all");
	fflush(stdout);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &while_seen, NULL);
	_exit(0);
}
