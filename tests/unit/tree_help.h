/* SPDX-License-Identifier: Apache-2.0 */
/* Trees for the tests of tree/: made, listed, packed and unpacked, each in a directory of its
 * own. */
#ifndef TESTS_TREE_HELP_H
#define TESTS_TREE_HELP_H

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/fd.h"
#include "kernel/remove.h"
#include "tap.h"
#include "tree/pack.h"
#include "tree/unpack.h"
#include "tree/walk.h"

#define DIR_OPEN (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* A fresh directory; not on tmpfs where that can be had, for its user attributes. */
__attribute__((unused)) static int fresh(char path[64])
{
	snprintf(path, 64, "/var/tmp/pinfold-tree-XXXXXX");
	if (!mkdtemp(path)) {
		snprintf(path, 64, "/tmp/pinfold-tree-XXXXXX");
		if (!mkdtemp(path))
			return -1;
	}
	return open(path, DIR_OPEN);
}

__attribute__((unused)) static bool put_map(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

	if (fd >= 0)
		close(fd);
	return n == (ssize_t)strlen(text);
}

/* Root of a user namespace of our own, and whatever else. */
__attribute__((unused)) static bool own_namespace(int flags)
{
	char uid[64], gid[64];

	snprintf(uid, sizeof(uid), "0 %u 1", geteuid());
	snprintf(gid, sizeof(gid), "0 %u 1", getegid());
	if (unshare(CLONE_NEWUSER | flags) < 0)
		return false;
	(void)put_map("/proc/self/setgroups", "deny"); /* not there for who may set them */
	return put_map("/proc/self/uid_map", uid) && put_map("/proc/self/gid_map", gid);
}

__attribute__((unused)) static void put_file(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	(void)!write(fd, text, strlen(text));
	close(fd);
}

__attribute__((unused)) static char *get_file(int dir, const char *name, char *buf, size_t size)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, buf, size - 1);

	if (fd >= 0)
		close(fd);
	buf[n > 0 ? n : 0] = '\0';
	return buf;
}

__attribute__((unused)) static int temp_file(void)
{
	char path[] = "/tmp/pinfold-stream-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	unlink(path);
	return fd;
}

/* Pack `path` of `dir` into a file that is read from its beginning. */
__attribute__((unused)) static int packed(int dir, const char *path, int *ret_fd, struct err *e)
{
	struct tree_pack_opts opts = {0};
	struct tree_pack_stats stats;
	int fd = temp_file(), r = tree_pack(dir, path, &opts, fd, &stats, e);

	lseek(fd, 0, SEEK_SET);
	*ret_fd = fd;
	return r;
}

__attribute__((unused)) static bool same_bytes(int a, int b)
{
	char x[4096], y[4096];
	off_t at = 0;

	for (;;) {
		ssize_t n = pread(a, x, sizeof(x), at), m = pread(b, y, sizeof(y), at);

		if (n != m || n < 0 || memcmp(x, y, (size_t)n))
			return false;
		if (n == 0)
			return true;
		at += n;
	}
}

#endif
