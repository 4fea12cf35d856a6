/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct removal {
	int top;
	unsigned serial; /* of names that were given */
	uint64_t done;	 /* entries gone or moved: without one more we would go on for ever */
};

/* A directory that moves is itself written to, which its owner may have forbidden himself. */
static void hoist(struct removal *r, int fd, const char *from)
{
	bool allowed = false;
	char name[32];

	for (;;) {
		(void)snprintf(name, sizeof(name), "x%u", r->serial++);
		if (renameat(fd, from, r->top, name) == 0) {
			r->done++;
			return;
		}
		if (errno == EACCES && !allowed && fchmodat(fd, from, 0700, 0) == 0)
			allowed = true;
		else if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
			return;
	}
}

/*
 * Empty `fd` of everything but directories, and hoist what the first directory holds: its
 * subdirectories move up into `top` under fresh names, so depth never grows. 1: something is left.
 */
static int flatten(struct removal *r, int fd)
{
	DIR *all = fdopendir(dup(fd));
	struct dirent *d;
	int left = 0;

	if (!all)
		return -errno;
	rewinddir(all);
	while ((d = readdir(all))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (unlinkat(fd, d->d_name, 0) == 0 || unlinkat(fd, d->d_name, AT_REMOVEDIR) == 0) {
			r->done++;
			continue;
		}
		if (fd == r->top) {
			left = 1;
			continue;
		}
		hoist(r, fd, d->d_name);
	}
	closedir(all);
	return left;
}

static int empty_children(struct removal *r)
{
	DIR *all = fdopendir(dup(r->top));
	struct dirent *d;

	if (!all)
		return -errno;
	rewinddir(all);
	while ((d = readdir(all))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		auto_close int fd = openat(r->top, d->d_name, DIR_FLAGS);
		/* Its own owner may have locked himself out. */
		if (fd < 0 && errno == EACCES && fchmodat(r->top, d->d_name, 0700, 0) == 0)
			fd = openat(r->top, d->d_name, DIR_FLAGS);
		if (fd >= 0) {
			(void)fchmod(fd, 0700); /* or out of writing to it */
			(void)flatten(r, fd);
		}
		r->done += unlinkat(r->top, d->d_name, AT_REMOVEDIR) == 0;
	}
	closedir(all);
	return 0;
}

int remove_tree(const char *path)
{
	return remove_tree_at(AT_FDCWD, path);
}

int remove_tree_at(int dir, const char *path)
{
	auto_close int top = openat(dir, path, DIR_FLAGS);
	uint64_t before = 0;
	int left = 1;

	if (top < 0 && errno == EACCES && fchmodat(dir, path, 0700, 0) == 0)
		top = openat(dir, path, DIR_FLAGS);
	if (top < 0)
		return errno == ENOENT ? 0 : -errno;
	(void)fchmod(top, 0700);
	struct removal r = {.top = top, .done = 1};
	while (left > 0 && r.done > before) {
		before = r.done;
		left = flatten(&r, top);
		if (left > 0)
			(void)empty_children(&r);
	}
	if (unlinkat(dir, path, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return -errno;
	return 0;
}
