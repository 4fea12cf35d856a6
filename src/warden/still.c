/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/still.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "warden/usage.h"

#define LOOK_NS 500000 /* between two looks */

struct still {
	pid_t guest;
	unsigned n; /* of those that we stopped */
	pid_t pid[USAGE_PROCESSES_MAX];
	int pidfd[USAGE_PROCESSES_MAX];
};

/* Does this thread stand still, or is it gone? One that waits for the disk may yet write. */
static bool is_still(int tasks, const char *name)
{
	char path[40], text[512];
	size_t len = 0;

	(void)snprintf(path, sizeof(path), "%.20s/stat", name);
	auto_close int fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fd_read_max(fd, text, sizeof(text) - 1, &len) < 0)
		return true;
	text[len] = '\0';
	const char *end = strrchr(text, ')');
	return !end || strchr("TtZX", end[1] == ' ' ? end[2] : 'R') != NULL;
}

static bool all_still(pid_t pid)
{
	char path[64];
	struct dirent *d;
	bool still = true;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *tasks = opendir(path);
	while (still && tasks && (d = readdir(tasks)))
		still = d->d_name[0] == '.' || is_still(dirfd(tasks), d->d_name);
	if (tasks)
		closedir(tasks);
	return still;
}

static bool is_known(const struct still *s, pid_t pid)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->pid[i] == pid)
			return true;
	return false;
}

/* 1: he is on his way. A number that is another's by now is not in the next list. */
static int stop_one(struct still *s, pid_t pid)
{
	if (is_known(s, pid))
		return 1;
	if (s->n == USAGE_PROCESSES_MAX)
		return -E2BIG;
	auto_close int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return errno == ESRCH ? 1 : -errno;
	if (!usage_is_below(pid, s->guest))
		return 1;
	if (syscall(SYS_pidfd_send_signal, fd, SIGSTOP, NULL, 0) < 0 && errno != ESRCH)
		return -errno;
	s->pid[s->n] = pid;
	s->pidfd[s->n++] = take_fd(&fd);
	return 1;
}

/* A parent that waits would find its child stopped, if that came first. */
static bool has_turn(const struct still *s, pid_t pid)
{
	pid_t parent = usage_parent(pid);

	return parent == s->guest || all_still(parent);
}

/* 0: all stand still; 1: not yet; -errno. */
static int look(struct still *s, bool stops)
{
	auto_free pid_t *list = malloc(USAGE_PROCESSES_MAX * sizeof(*list));
	unsigned n = list ? usage_list(s->guest, list) : 0;
	int r = list ? 0 : -ENOMEM;

	for (unsigned i = 0; i < n && r >= 0; i++) {
		if (all_still(list[i]))
			continue;
		int one = stops && has_turn(s, list[i]) ? stop_one(s, list[i]) : 1;
		r = one < 0 ? one : 1;
	}
	return r;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail for this clock */
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

int still_begin(pid_t guest, unsigned patience_ms, struct still **ret)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	struct still *s = calloc(1, sizeof(*s));
	int r = s ? 1 : -ENOMEM;
	uint64_t end_ms = now_ms() + patience_ms;

	if (s)
		s->guest = guest;
	/* By the clock: a look takes milliseconds where there are many processes or others are busy. */
	while (r > 0) {
		r = look(s, true);
		if (r > 0 && now_ms() >= end_ms)
			break;
		if (r > 0)
			(void)nanosleep(&pause, NULL);
	}
	if (r != 0) {
		still_end(s);
		return r < 0 ? r : -ETIMEDOUT;
	}
	*ret = s;
	return 0;
}

bool still_holds(const struct still *s)
{
	return look((struct still *)(uintptr_t)s, false) == 0;
}

void still_end(struct still *s)
{
	/* Parents were stopped first and go on last: none finds its child stopped. */
	for (unsigned i = s ? s->n : 0; i-- > 0;) {
		/* ESRCH: he is gone. */
		(void)syscall(SYS_pidfd_send_signal, s->pidfd[i], SIGCONT, NULL, 0);
		fd_close(&s->pidfd[i]);
	}
	free(s);
}
