/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/place.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "sync/digest.h"

#define REMOVE_DEPTH 64

void place_init(struct place *p, int root)
{
	p->root = root;
	p->fd = FD_NONE;
	p->dir[0] = 0;
}

void place_done(struct place *p)
{
	place_forget(p);
}

void place_forget(struct place *p)
{
	if (p->fd >= 0)
		fd_close(&p->fd);
	p->fd = FD_NONE;
	p->dir[0] = 0;
}

bool place_is_missing(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -ELOOP;
}

int place_at(struct place *p, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;

	assert(len <= MANIFEST_PATH_MAX);
	*ret_name = slash ? slash + 1 : path;
	if (len == 0)
		return p->root;
	if (p->fd != FD_NONE && strncmp(p->dir, path, len) == 0 && !p->dir[len])
		return p->fd;
	place_forget(p);
	memcpy(p->dir, path, len);
	p->dir[len] = 0;
	p->fd = open_below(p->root, p->dir, O_PATH | O_DIRECTORY, 0);
	if (p->fd < 0)
		p->fd = -errno;
	return p->fd;
}

/* What has no right to be opened can be reached by an O_PATH descriptor, and the mode of that only
 * by its name in /proc. */
static int set_mode_by_path(int dir, const char *name, unsigned mode)
{
	auto_close int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char path[64];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return chmod(path, mode) < 0 ? -errno : 0;
}

int place_set_mode(int dir, const char *name, unsigned mode)
{
	auto_close int fd =
		openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return set_mode_by_path(dir, name, mode);
	return fchmod(fd, mode) < 0 ? -errno : 0;
}

int place_unlock(int dir)
{
	char path[64];
	struct stat st;

	if (fstat(dir, &st) < 0)
		return -errno;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
	return chmod(path, (st.st_mode & 01777) | 0700) < 0 ? -errno : 0;
}

static int open_to_empty(int dir, const char *name)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(dir, name, flags);

	if (fd < 0 && errno == EACCES && set_mode_by_path(dir, name, 0700) == 0)
		fd = openat(dir, name, flags);
	return fd;
}

static int unlink_any(int dir, const char *name)
{
	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	return unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : -errno;
}

/* Something is in the way of removing the directory `fd`: take out what there is. What lies too
 * deep is brought up to `top`, so that no depth is too much. */
static int empty(int top, int fd, unsigned depth, unsigned *serial)
{
	int again = dup(fd);
	DIR *all = again < 0 ? NULL : fdopendir(again);
	struct dirent *d;
	char fresh[32];
	int r = all ? 0 : -errno;

	if (!all && again >= 0)
		close(again);
	while (all && r == 0 && (d = readdir(all))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		r = unlink_any(fd, d->d_name);
		if (r == -EACCES && place_unlock(fd) == 0)
			r = unlink_any(fd, d->d_name);
		if (r != -ENOTEMPTY && r != -EEXIST)
			continue;
		auto_close int sub = open_to_empty(fd, d->d_name);
		if (sub < 0) {
			r = -errno;
		} else if (depth < REMOVE_DEPTH) {
			r = empty(top, sub, depth + 1, serial);
			if (r == 0)
				r = unlink_any(fd, d->d_name);
		} else {
			(void)snprintf(fresh, sizeof(fresh), ".pinfold-deep-%u", (*serial)++);
			r = renameat(fd, d->d_name, top, fresh) < 0 ? -errno : 0;
		}
	}
	if (all)
		closedir(all);
	return r;
}

int place_remove(int dir, const char *name)
{
	unsigned serial = 0;
	int r = unlink_any(dir, name);

	if (r == -EACCES && place_unlock(dir) == 0)
		r = unlink_any(dir, name);
	for (int i = 0; i < 10000 && (r == -ENOTEMPTY || r == -EEXIST); i++) {
		auto_close int fd = open_to_empty(dir, name);

		r = fd < 0 ? -errno : empty(fd, fd, 0, &serial);
		if (r == 0)
			r = unlink_any(dir, name);
	}
	return r;
}
