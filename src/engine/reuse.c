/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/reuse.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "wire/link.h"

#define REUSE_MAX 16u /* as many as are at it at once, usually */
#define STALE_MAX 64u

static struct {
	pthread_mutex_t lock;
	pid_t owner;
	unsigned runs;
	struct place {
		int fd; /* 0: a free place; descriptor 0 is somebody's standard input */
		char path[REUSE_PATH_SIZE];
	} places[REUSE_MAX];
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* False: somebody is at it, or was when he forked. */
static bool enter(void)
{
	if (pthread_mutex_trylock(&kept.lock) != 0)
		return false;
	if (kept.owner == getpid())
		return true;
	/* Two processes on one connection would have each other's answers. */
	for (unsigned i = 0; i < REUSE_MAX; i++) {
		if (kept.places[i].fd > 0)
			close(kept.places[i].fd);
		kept.places[i].fd = 0;
	}
	kept.owner = getpid();
	kept.runs = 0;
	return true;
}

static void leave(void)
{
	(void)pthread_mutex_unlock(&kept.lock); /* it is ours */
}

bool reuse_wanted(void)
{
	bool wanted = enter();

	if (!wanted)
		return false;
	wanted = kept.runs++ > 0;
	leave();
	return wanted;
}

/* What was still said about the run before is of no use to anybody. */
static bool is_there(int fd)
{
	struct link_msg msg;
	int fds[2];

	for (unsigned i = 0; i < STALE_MAX; i++) {
		int r = passfd_receive(fd, &msg, sizeof(msg), fds, 2, MSG_DONTWAIT);

		fd_close(&fds[0]);
		fd_close(&fds[1]);
		if (r < 0)
			return r == -EAGAIN;
	}
	return false;
}

int reuse_take(const char *path)
{
	int fd = FD_NONE;

	if (!enter())
		return FD_NONE;
	for (unsigned i = 0; i < REUSE_MAX && fd < 0; i++) {
		struct place *p = &kept.places[i];

		if (p->fd <= 0 || strcmp(p->path, path) != 0)
			continue;
		fd = p->fd;
		p->fd = 0;
		if (!is_there(fd))
			fd_close(&fd);
	}
	leave();
	return fd;
}

void reuse_give(const char *path, int *fd)
{
	bool in = *fd > 0 && strlen(path) < REUSE_PATH_SIZE && enter();

	for (unsigned i = 0; in && i<REUSE_MAX && * fd> 0; i++) {
		struct place *p = &kept.places[i];

		if (p->fd > 0)
			continue;
		p->fd = take_fd(fd);
		(void)snprintf(p->path, sizeof(p->path), "%s", path);
	}
	if (in)
		leave();
	fd_close(fd);
}
