/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/copy.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fd.h"
#include "tree/attr.h"
#include "tree/file.h"
#include "tree/path.h"

#define BLOCK (128u << 10)

/* A layer that is still being written to may have set-id bits: none gets into a copy. On a
 * directory they say whose group new files have, and stay. */
static mode_t mode_of(const struct stat *st)
{
	return st->st_mode & (S_ISDIR(st->st_mode) ? 07777 : 01777);
}

int tree_copy_meta(int from, const struct stat *st, int to, uint64_t *lost, struct err *e)
{
	struct timespec times[2] = {st->st_atim, st->st_mtim};
	struct tree_attrs attrs;
	struct stat now;

	if (fstat(to, &now) < 0)
		return err_sys(e, "look at it");
	if ((now.st_uid != st->st_uid || now.st_gid != st->st_gid) &&
	    fchown(to, st->st_uid, st->st_gid) < 0)
		return err_sys(e, "set its owner");
	int r = tree_attrs_read(from, true, &attrs, e);
	if (r < 0)
		return r;
	*lost += tree_attrs_write(to, attrs.bytes, attrs.len);
	tree_attrs_done(&attrs);
	/* After the owner, whose change takes bits away. */
	if (fchmod(to, mode_of(st)) < 0)
		return err_sys(e, "set its mode");
	if (futimens(to, times) < 0)
		return err_sys(e, "set its time");
	return 0;
}

static int write_at(int fd, const char *p, size_t len, uint64_t at, struct err *e)
{
	return fd_pwrite_all(fd, p, len, at) < 0 ? err_sys(e, "write") : 0;
}

static int copy_bytes(int from, int to, uint64_t size, uint64_t *ret_bytes, struct err *e)
{
	uint64_t at = 0, start, end;
	int r = 0;

	if (size == 0 || ioctl(to, FICLONE, from) == 0)
		return 0;
	auto_free char *buf = malloc(BLOCK);
	if (!buf)
		return err_sys(e, "copy");
	while (r >= 0 && tree_file_extent(from, at, size, &start, &end)) {
		for (at = start; at < end && r >= 0;) {
			size_t want = end - at < BLOCK ? end - at : BLOCK;
			ssize_t n = tree_file_read(from, buf, want, at);

			if (n < 0 || (size_t)n < want) {
				errno = n < 0 ? (int)-n : EIO;
				return err_sys(e, "read");
			}
			r = write_at(to, buf, want, at, e);
			at += want;
			*ret_bytes += want;
		}
	}
	if (r >= 0 && ftruncate(to, (off_t)size) < 0)
		return err_sys(e, "write");
	return r;
}

static int copy_file(int from_dir, const char *name, struct stat *st, int to_dir,
		     uint64_t *ret_bytes, uint64_t *lost, struct err *e)
{
	auto_close int from = FD_NONE;
	int r = tree_file_open(from_dir, name, st, &from, e);

	if (r < 0)
		return r;
	auto_close int to =
		openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return err_sys(e, "make");
	r = copy_bytes(from, to, (uint64_t)st->st_size, ret_bytes, e);
	return r < 0 ? r : tree_copy_meta(from, st, to, lost, e);
}

/* What has no descriptor: a link, a FIFO, a socket. */
static int copy_node(int from_dir, const char *name, const struct stat *st, int to_dir,
		     struct err *e)
{
	struct timespec times[2] = {st->st_atim, st->st_mtim};
	char target[TREE_PATH_MAX + 1];

	if (S_ISLNK(st->st_mode)) {
		ssize_t n = readlinkat(from_dir, name, target, sizeof(target) - 1);

		if (n < 0)
			return err_sys(e, "read the link");
		target[n] = '\0';
		if (symlinkat(target, to_dir, name) < 0)
			return err_sys(e, "make the link");
	} else if (mknodat(to_dir, name, (st->st_mode & S_IFMT) | mode_of(st), 0) < 0) {
		return err_sys(e, "make");
	}
	if (fchownat(to_dir, name, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "set its owner");
	/* Against the umask. The directory is ours alone: nobody puts a link in its place. */
	if (!S_ISLNK(st->st_mode) && fchmodat(to_dir, name, mode_of(st), 0) < 0)
		return err_sys(e, "set its mode");
	if (utimensat(to_dir, name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "set its time");
	return 0;
}

int tree_copy(int from_dir, const char *name, struct stat *st, int to_dir, uint64_t *ret_bytes,
	      uint64_t *lost, struct err *e)
{
	switch (st->st_mode & S_IFMT) {
	case S_IFREG: return copy_file(from_dir, name, st, to_dir, ret_bytes, lost, e);
	case S_IFLNK:
	case S_IFIFO:
	case S_IFSOCK: return copy_node(from_dir, name, st, to_dir, e);
	default: return err_set(e, ERR_UNSUPPORTED, "a device cannot be copied");
	}
}
