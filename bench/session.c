/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a piece of code costs in a session that lives, against posix_spawn of /usr/bin/true in the
 * same run, turn by turn: session SANDBOX [COUNT]. The sandbox is one of a running daemon's.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "pinfold/pinfold.h"

#define COUNT_MAX 100000

static double times[2][COUNT_MAX];

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static double bare(void)
{
	char *argv[] = {(char[]){"true"}, NULL};
	double began = now_us();
	pid_t pid;
	int status;

	if (posix_spawn(&pid, "/usr/bin/true", NULL, NULL, argv, argv + 1) != 0 ||
	    waitpid(pid, &status, 0) < 0)
		exit(1);
	return now_us() - began;
}

static double once(struct pinfold_session *s, const char *code)
{
	struct pinfold_session_event ev = {0};
	struct pinfold_error err;
	double began = now_us();

	if (pinfold_session_execute(s, code, strlen(code), 0, 0, &err) < 0) {
		fprintf(stderr, "%s\n", err.message);
		exit(1);
	}
	while (ev.kind != PINFOLD_SESSION_DONE)
		if (pinfold_session_next(s, -1, &ev) == 0)
			exit(1);
	return now_us() - began;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void contest(const char *sandbox, const char *lang, const char *code, int n)
{
	struct pinfold_session_options o = {.size = sizeof(o), .lang = lang};
	struct pinfold_session *s = NULL;
	struct pinfold_error err;

	if (pinfold_session_open(sandbox, &o, &s, &err) < 0) {
		printf("%-8s %s\n", lang, err.message);
		return;
	}
	double first = once(s, code);
	for (int i = 0; i < n; i++) {
		times[0][i] = bare();
		times[1][i] = once(s, code);
	}
	pinfold_session_close(s);
	for (int i = 0; i < 2; i++)
		qsort(times[i], (size_t)n, sizeof(double), compare);
	printf("%-8s %8.0f %8.0f %8.0f %8.0f %8.2f %10.0f\n", lang, times[1][n / 2],
	       times[1][n * 95 / 100], times[1][n * 99 / 100], times[0][n / 2],
	       times[1][n / 2] / times[0][n / 2], first);
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? strtol(argv[2], &argv[2], 10) : 1000;

	if (argc < 2 || n < 10 || n > COUNT_MAX)
		return 2;
	printf("µs          p50      p95      p99     bare    ratio      first\n");
	contest(argv[1], "python", "1+1", (int)n);
	contest(argv[1], "node", "1+1", (int)n);
	contest(argv[1], "bash", "true", (int)n);
	contest(argv[1], "r", "1+1", (int)n);
	return 0;
}
