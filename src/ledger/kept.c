/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "ledger/chain_int.h"

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int kept = FD_NONE; /* also while it is taken: a child closes it */
static bool able;
static struct tail tail;

/* The lock of a file that parent and child have open together is both of theirs. */
static void in_child(void)
{
	(void)pthread_mutex_init(&turn, NULL); /* whoever had it is not in this process */
	fd_close(&kept);
}

static void prepare(void)
{
	able = pthread_atfork(NULL, NULL, in_child) == 0;
}

/* Locked, and still the file of that name. */
static bool lock(int fd, int dir, uint64_t *ret_size)
{
	struct stat mine, named;
	int r;

	do
		r = flock(fd, LOCK_EX);
	while (r < 0 && errno == EINTR);
	if (r < 0 || fstat(fd, &mine) < 0 ||
	    fstatat(dir, CHAIN_FILE, &named, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	*ret_size = (uint64_t)mine.st_size;
	return named.st_ino == mine.st_ino && named.st_dev == mine.st_dev;
}

int kept_take(int dir, uint64_t *ret_size, bool *ret_known, struct tail *ret)
{
	(void)pthread_once(&once, prepare);
	(void)pthread_mutex_lock(&turn);
	*ret_known = false;
	if (kept < 0)
		return FD_NONE;
	if (!lock(kept, dir, ret_size)) {
		fd_close(&kept);
		return FD_NONE;
	}
	*ret_known = tail.any && tail.end == *ret_size;
	if (*ret_known)
		*ret = tail;
	return kept;
}

void kept_change(int fd)
{
	fd_close(&kept);
	kept = fd;
}

void kept_give(const struct tail *t)
{
	if (t && able) {
		(void)flock(kept, LOCK_UN); /* cannot fail: it is ours */
		tail = *t;
	} else {
		fd_close(&kept);
	}
	(void)pthread_mutex_unlock(&turn);
}
