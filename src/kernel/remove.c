/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/*
 * Empty `fd` of everything but directories, and hoist what the first directory holds: its
 * subdirectories move up into `top` under fresh names, so depth never grows. 1: something is left.
 */
static int flatten(int top, int fd, unsigned *serial)
{
	DIR *all = fdopendir(dup(fd));
	struct dirent *d;
	char name[32];
	int left = 0;

	if (!all)
		return -errno;
	rewinddir(all);
	while ((d = readdir(all))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (unlinkat(fd, d->d_name, 0) == 0 || unlinkat(fd, d->d_name, AT_REMOVEDIR) == 0)
			continue;
		if (fd == top) {
			left = 1;
			continue;
		}
		do
			(void)snprintf(name, sizeof(name), "x%u", (*serial)++);
		while (renameat(fd, d->d_name, top, name) < 0 &&
		       (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR));
	}
	closedir(all);
	return left;
}

static int empty_children(int top, unsigned *serial)
{
	DIR *all = fdopendir(dup(top));
	struct dirent *d;

	if (!all)
		return -errno;
	rewinddir(all);
	while ((d = readdir(all))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		auto_close int fd = openat(top, d->d_name, DIR_FLAGS);
		/* Its own owner may have locked himself out. */
		if (fd < 0 && errno == EACCES && fchmodat(top, d->d_name, 0700, 0) == 0)
			fd = openat(top, d->d_name, DIR_FLAGS);
		if (fd >= 0)
			(void)flatten(top, fd, serial);
		(void)unlinkat(top, d->d_name, AT_REMOVEDIR);
	}
	closedir(all);
	return 0;
}

int remove_tree(const char *path)
{
	auto_close int top = open(path, DIR_FLAGS);
	unsigned serial = 0;
	int left = 1;

	if (top < 0)
		return errno == ENOENT ? 0 : -errno;
	for (int i = 0; left > 0 && i < 100000; i++) {
		left = flatten(top, top, &serial);
		if (left > 0)
			(void)empty_children(top, &serial);
	}
	if (rmdir(path) < 0 && errno != ENOENT)
		return -errno;
	return 0;
}
