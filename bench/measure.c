/* SPDX-License-Identifier: Apache-2.0 */
#include "measure.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SAMPLE_SECONDS_MAX 60

extern char **environ;
static int complaints = -1; /* standard error of what is started */

unsigned long parse_number(const char *text, const char *what)
{
	unsigned long value = 0;

	for (const char *p = text; *p; p++) {
		if (*p < '0' || *p > '9' || value > 100000000)
			errx(2, "%s: not a number: %s", what, text);
		value = value * 10 + (unsigned long)(*p - '0');
	}
	if (!*text)
		errx(2, "%s: a number is missing", what);
	return value;
}

static void contender_init(struct contender *c, char *word, char **argv, size_t samples)
{
	char *slash = strchr(word, '/');

	*c = (struct contender){.name = word + 1, .argv = argv, .max = samples};
	if (slash) {
		*slash = '\0';
		c->max = parse_number(slash + 1, word);
		if (c->max > samples)
			c->max = samples;
	}
	c->samples = calloc(c->max ? c->max : 1, sizeof(*c->samples));
	if (!c->samples)
		err(1, "samples");
}

size_t contenders_parse(struct contender *ret, char **argv, size_t samples)
{
	size_t n = 0;

	for (char **p = argv; *p; p++) {
		if (**p != '@') {
			if (n == 0)
				errx(2, "%s: expected @NAME", *p);
			continue;
		}
		if (n == CONTENDERS_MAX)
			errx(2, "more than %d contenders", CONTENDERS_MAX);
		contender_init(&ret[n++], *p, p + 1, samples);
		*p = NULL;
	}
	for (size_t i = 0; i < n; i++)
		if (!ret[i].argv[0])
			errx(2, "@%s: no command", ret[i].name);
	return n;
}

void contender_sample(struct contender *c, uint64_t ns)
{
	if (c->n < c->max)
		c->samples[c->n++] = ns;
}

void contenders_done(struct contender *c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(c[i].samples);
}

void shuffle(size_t *order, size_t n)
{
	static uint64_t state = 88172645463325252u; /* the same order in every run */

	for (size_t i = n; i > 1; i--) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		size_t j = state % i, kept = order[i - 1];
		order[i - 1] = order[j];
		order[j] = kept;
	}
}

FILE *results_open(const char *path)
{
	FILE *f = fopen(path, "ae");

	if (!f)
		err(1, "%s", path);
	return f;
}

void become_user(unsigned long uid)
{
	if (setgroups(0, NULL) < 0 || setgid((gid_t)uid) < 0 || setuid((uid_t)uid) < 0)
		err(1, "become user %lu", uid);
	/* As for a program that this user started: /proc of its children is the user's own. */
	if (prctl(PR_SET_DUMPABLE, 1) < 0)
		err(1, "become user %lu", uid);
}

static void on_alarm(int signo)
{
	(void)signo; /* its arrival ends the wait */
}

FILE *streams_take(void)
{
	struct sigaction act = {.sa_handler = on_alarm};
	int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	FILE *f = out < 0 ? NULL : fdopen(out, "w");
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	complaints = memfd_create("complaints", MFD_CLOEXEC);
	if (!f || null < 0 || complaints < 0 || sigaction(SIGALRM, &act, NULL) < 0)
		err(1, "standard streams");
	if (dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    dup2(complaints, STDERR_FILENO) < 0)
		err(1, "standard streams");
	close(null);
	return f;
}

void first_complaint(char *ret, size_t size)
{
	ssize_t len = pread(complaints, ret, size - 1, 0);

	ret[len > 0 ? len : 0] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	/* Both ends go back: the next program writes from the start. Failing costs only text. */
	(void)!ftruncate(complaints, 0);
	(void)lseek(complaints, 0, SEEK_SET);
}

static bool ended_well(struct contender *c, int status)
{
	char text[256];

	first_complaint(text, sizeof(text));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	c->failures++;
	(void)snprintf(c->reason, sizeof(c->reason), "%s %d: %s",
		       WIFEXITED(status) ? "exit status" : "signal",
		       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), text);
	return false;
}

bool timed_spawn(struct contender *c, uint64_t *ret_ns)
{
	pid_t pid = 0;
	int status = 0;

	(void)alarm(SAMPLE_SECONDS_MAX);
	uint64_t begin = now_ns();
	int r = posix_spawn(&pid, c->argv[0], NULL, NULL, c->argv, environ);
	if (r != 0) {
		c->failures++;
		(void)snprintf(c->reason, sizeof(c->reason), "%s: %s", c->argv[0], strerror(r));
		return false;
	}
	pid_t got = waitpid(pid, &status, 0);
	*ret_ns = now_ns() - begin;
	if (got < 0) {
		(void)kill(pid, SIGKILL); /* it is ours and not yet waited for */
		(void)waitpid(pid, &status, 0);
	}
	(void)alarm(0);
	return ended_well(c, status);
}

uint64_t now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail for this clock */
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}
