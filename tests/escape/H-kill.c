/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a program again and again, and at a random moment of its life sends it a signal.
 *
 *	H-kill [-n COUNT] [-s SEED] [-k SIGNAL] [-i] [-m WINDOW_US] -- PROGRAM [ARG...]
 *
 * The moments are spread evenly over the window: from fork to a little past the program's usual
 * end, which undisturbed runs tell when -m does not. The same seed gives the same moments. -k 0
 * sends nothing. -i sends to the program's first child, for pinfold the sandbox's init. Prints
 *
 *	runs N hit K status CODE*COUNT...
 *
 * where a run that a signal ended counts as 128 + signal. A hit is a signal that found its process.
 * A run that goes on for a minute after its signal is killed, and `hung COUNT` printed.
 */
#include "attack.h"

#include <err.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>

enum { CALIBRATE = 5, STATUS_MAX = 256, PATIENCE_MS = 60000 };

struct job {
	long count;
	uint64_t seed;
	uint64_t window_us;
	int signo;
	bool to_child;
	char **argv;
	long hits, hung;
	long status[STATUS_MAX];
};

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t number(const char *text)
{
	char *end = NULL;
	unsigned long long value = strtoull(text, &end, 10);

	if (end == text || *end)
		errx(2, "not a number: %s", text);
	return value;
}

static pid_t start(char **argv)
{
	pid_t pid = fork();

	if (pid < 0)
		err(2, "fork");
	if (pid > 0)
		return pid;
	execv(argv[0], argv);
	err(127, "%s", argv[0]);
}

static pid_t first_child(pid_t pid)
{
	char path[64];
	int child = 0;
	FILE *f = NULL;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%d", &child) != 1)
		child = 0;
	fclose(f);
	return child;
}

static int finish(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			err(2, "waitpid");
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The pid is our own child, not yet waited for: its number is safe. A child of it may be gone by
 * now, but a number is not given out again that soon. */
static bool hit(const struct job *j, pid_t pid)
{
	siginfo_t info = {0};
	pid_t to = j->to_child ? first_child(pid) : pid;

	if (!j->signo || to <= 0)
		return false;
	if (!j->to_child && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	    info.si_pid == pid)
		return false;
	return kill(to, j->signo) == 0;
}

/* Whether it ended in time. */
static bool ends(pid_t pid)
{
	struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
	bool ended = poll(&p, 1, PATIENCE_MS) != 0;

	close(p.fd);
	return ended;
}

static void run_once(struct job *j, uint64_t delay_us)
{
	struct timespec delay = {(time_t)(delay_us / 1000000), (long)(delay_us % 1000000) * 1000};
	pid_t pid = start(j->argv);

	if (j->signo)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &delay, NULL);
	j->hits += hit(j, pid);
	if (j->signo && !ends(pid)) {
		j->hung++;
		kill(pid, SIGKILL);
	}
	j->status[finish(pid) % STATUS_MAX]++;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Half as long again as the shortest of a few runs: a longer one was in somebody's way. */
static void calibrate(struct job *j)
{
	uint64_t took[CALIBRATE];

	for (int i = 0; i < CALIBRATE; i++) {
		uint64_t begin = now_us();

		if (finish(start(j->argv)) != 0)
			errx(2, "the program does not work undisturbed");
		took[i] = now_us() - begin;
	}
	qsort(took, CALIBRATE, sizeof(took[0]), by_size);
	j->window_us = took[0] * 3 / 2;
}

static void parse(int argc, char **argv, struct job *j)
{
	int c;

	while ((c = getopt(argc, argv, "+n:s:k:m:i")) != -1) {
		switch (c) {
		case 'n': j->count = (long)number(optarg); break;
		case 's': j->seed = number(optarg); break;
		case 'k': j->signo = (int)number(optarg); break;
		case 'm': j->window_us = number(optarg); break;
		case 'i': j->to_child = true; break;
		default: exit(2);
		}
	}
	if (optind == argc)
		errx(2, "no program");
	j->argv = argv + optind;
}

int main(int argc, char **argv)
{
	struct job j = {.count = 60, .seed = 1, .signo = SIGKILL};
	uint64_t state;

	parse(argc, argv, &j);
	if (!j.window_us && j.signo)
		calibrate(&j);
	state = j.seed * 0x9e3779b97f4a7c15u | 1;
	for (long i = 0; i < j.count; i++)
		run_once(&j, j.signo ? next_random(&state) % j.window_us : 0);
	printf("runs %ld hit %ld status", j.count, j.hits);
	for (int i = 0; i < STATUS_MAX; i++)
		if (j.status[i])
			printf(" %d*%ld", i, j.status[i]);
	if (j.hung)
		printf(" hung %ld", j.hung);
	printf(" window_us %llu\n", (unsigned long long)j.window_us);
	return 0;
}
