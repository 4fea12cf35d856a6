/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/timed.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SAMPLE_SECONDS_MAX 60

extern char **environ;
static int complaints = -1; /* standard error of what is started */

uint64_t now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail for this clock */
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void on_alarm(int signo)
{
	(void)signo; /* its arrival ends the wait */
}

int streams_take(int ret_kept[3])
{
	struct sigaction act = {.sa_handler = on_alarm};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; i < 3; i++)
		ret_kept[i] = fcntl(i, F_DUPFD_CLOEXEC, 3);
	complaints = memfd_create("complaints", MFD_CLOEXEC);
	if (null < 0 || complaints < 0 || ret_kept[0] < 0 || ret_kept[1] < 0 || ret_kept[2] < 0 ||
	    sigaction(SIGALRM, &act, NULL) < 0)
		return -1;
	if (dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    dup2(complaints, STDERR_FILENO) < 0)
		return -1;
	close(null);
	return 0;
}

void streams_give_back(const int kept[3])
{
	for (int i = 0; i < 3; i++) {
		(void)dup2(kept[i], i); /* both are open */
		close(kept[i]);
	}
	close(complaints);
	complaints = -1;
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
	char text[200];

	first_complaint(text, sizeof(text));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	return contender_failed(c, "%s %d: %s", WIFEXITED(status) ? "exit status" : "signal",
				WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), text);
}

/* Returns when it ended; its status is in *ret_status. */
static uint64_t await_end(pid_t pid, int *ret_status)
{
	pid_t got = waitpid(pid, ret_status, 0);
	uint64_t end = now_ns();

	if (got < 0) {
		(void)kill(pid, SIGKILL); /* it is ours and not yet waited for */
		(void)waitpid(pid, ret_status, 0);
	}
	(void)alarm(0);
	return end;
}

bool timed_spawn(struct contender *c, uint64_t *ret_ns)
{
	pid_t pid = 0;
	int status = 0;

	(void)alarm(SAMPLE_SECONDS_MAX);
	uint64_t begin = now_ns();
	int r = posix_spawn(&pid, c->argv[0], NULL, NULL, c->argv, environ);
	if (r != 0)
		return contender_failed(c, "%s: %s", c->argv[0], strerror(r));
	*ret_ns = await_end(pid, &status) - begin;
	return ended_well(c, status);
}

bool timed_spawn_byte(struct contender *c, uint64_t *ret_ns)
{
	posix_spawn_file_actions_t actions;
	int out[2], status = 0;
	pid_t pid = 0;
	char byte;

	if (pipe2(out, O_CLOEXEC) < 0)
		return contender_failed(c, "pipe: %s", strerror(errno));
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
	(void)alarm(SAMPLE_SECONDS_MAX);
	uint64_t begin = now_ns();
	int r = posix_spawn(&pid, c->argv[0], &actions, NULL, c->argv, environ);
	close(out[1]);
	bool got = r == 0 && read(out[0], &byte, 1) == 1;
	*ret_ns = now_ns() - begin;
	close(out[0]);
	(void)posix_spawn_file_actions_destroy(&actions);
	if (r != 0)
		return contender_failed(c, "%s: %s", c->argv[0], strerror(r));
	(void)await_end(pid, &status);
	return ended_well(c, status) && (got || contender_failed(c, "no output"));
}
