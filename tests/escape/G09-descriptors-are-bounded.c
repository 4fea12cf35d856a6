/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes kernel objects one after the other, after trying to raise every limit: `open NAME` when
 * there were more than MOST of them. On red runs no more than TRIES are had.
 */
#include "attack.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#define TRIES 3000
#define MOST 64
#define MOST_SIGNALS 1024

static int take_file(void)
{
	return open("/dev/null", O_RDONLY);
}

static int take_pipe(void)
{
	int fds[2];

	return pipe(fds) < 0 ? -1 : fds[1];
}

static int take_pair(void)
{
	int fds[2];

	return socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0 ? -1 : fds[1];
}

static int take_epoll(void)
{
	return epoll_create1(0);
}

static int take_event(void)
{
	return eventfd(0, 0);
}

static int take_timer(void)
{
	return timerfd_create(CLOCK_MONOTONIC, 0);
}

static int take_watch(void)
{
	return inotify_init();
}

static int take_memory(void)
{
	return memfd_create("x", 0);
}

static int take_copy(void)
{
	return dup(0);
}

static int take_number(void)
{
	return fcntl(0, F_DUPFD, MOST + 1);
}

static void many(const char *name, int (*take)(void))
{
	int n = 0, fd = 0;

	while (n < TRIES && fd >= 0)
		if ((fd = take()) >= 0)
			n++;
	door(name, n > MOST || fd > MOST ? n : -1);
	for (fd = 3; fd < 2 * TRIES + 100; fd++)
		close(fd);
}

static void signals(void)
{
	sigset_t set;
	int n = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	while (n < TRIES && sigqueue(getpid(), SIGRTMIN, (union sigval){0}) == 0)
		n++;
	door("signals", n > MOST_SIGNALS ? n : -1);
}

static void raise_limit(const char *name, int which)
{
	struct rlimit limit;

	if (getrlimit(which, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(which, &limit);
	limit.rlim_cur = limit.rlim_max = limit.rlim_max + 1;
	door(name, setrlimit(which, &limit));
}

int main(void)
{
	raise_limit("raise-nofile", RLIMIT_NOFILE);
	raise_limit("raise-sigpending", RLIMIT_SIGPENDING);
	many("file", take_file);
	many("pipe", take_pipe);
	many("pair", take_pair);
	many("epoll", take_epoll);
	many("event", take_event);
	many("timer", take_timer);
	many("inotify", take_watch);
	many("memory", take_memory);
	many("copy", take_copy);
	many("number", take_number);
	signals();
	return 0;
}
