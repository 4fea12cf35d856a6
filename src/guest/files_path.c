/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths of the file server. Links are followed as for any program inside, but never one of /proc
 * that leads to a descriptor, a root or a working directory. What was found is held by a
 * descriptor from there on.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/statfs.h>

#include "base/sys.h"
#include "guest/files_int.h"
#include "guest/guest.h"

#define LINKS_MAX 40 /* as the kernel */

static long open_at(int dir, const char *path, uint64_t flags)
{
	struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};

#ifdef DROP_LIVE_MAGICLINKS
	how.resolve = 0;
#endif
	return sys4(SYS_openat2, dir, path, &how, sizeof(how));
}

long files_look(const char *path, int nofollow)
{
	return open_at(AT_FDCWD, path, O_PATH | (nofollow ? O_NOFOLLOW : 0));
}

void files_own_path(char to[32], int fd)
{
	static const char prefix[] = "/proc/self/fd/";
	char digits[12];
	size_t n = 0, at = sizeof(prefix) - 1;

	for (size_t i = 0; i < at; i++)
		to[i] = prefix[i];
	do
		digits[n++] = (char)('0' + fd % 10);
	while (fd /= 10);
	while (n > 0)
		to[at++] = digits[--n];
	to[at] = '\0';
}

long files_reopen(int fd, int flags)
{
	char own[32];

	files_own_path(own, fd);
	return sys3(SYS_openat, AT_FDCWD, own, flags);
}

/* What the kernel makes up while it is read can wait, and asks who reads: that would be the
 * host. */
static int is_proc(int fd)
{
	struct statfs fs = {0};

	return sys2(SYS_fstatfs, fd, &fs) < 0 || fs.f_type == PROC_SUPER_MAGIC;
}

long files_check_regular(int fd, struct stat *ret)
{
	long r = sys2(SYS_fstat, fd, ret);

	if (r < 0)
		return r;
#ifdef DROP_LIVE_TYPE
	return 0;
#endif
	if (S_ISDIR(ret->st_mode))
		return -EISDIR;
	if (!S_ISREG(ret->st_mode))
		return -ENXIO;
	return is_proc(fd) ? -ENODEV : 0;
}

/* Go on to the next name of `path` from *dir, making it where it is missing. */
static long step_into(int *dir, const char *name, uint32_t mode)
{
	long next = open_at(*dir, name, O_PATH | O_DIRECTORY);

	if (next == -ENOENT) {
		long r = sys3(SYS_mkdirat, *dir, name, mode);

		if (r < 0 && r != -EEXIST)
			return r;
		next = open_at(*dir, name, O_PATH | O_DIRECTORY);
	}
	if (next < 0)
		return next;
	(void)sys1(SYS_close, *dir);
	*dir = (int)next;
	return 0;
}

static size_t next_name(const char *path, size_t *pos, char name[FILES_NAME_SIZE])
{
	size_t n = 0;

	while (path[*pos] == '/')
		(*pos)++;
	for (; path[*pos] && path[*pos] != '/'; (*pos)++, n++)
		if (n < FILES_NAME_SIZE - 1)
			name[n] = path[*pos];
	if (n < FILES_NAME_SIZE)
		name[n] = '\0';
	return n;
}

static int is_last(const char *path, size_t pos)
{
	while (path[pos] == '/')
		pos++;
	return !path[pos];
}

/* The directory `path` from `from`, made where it is missing. */
static long make_way(int from, const char *path, uint32_t mode)
{
	char name[FILES_NAME_SIZE];
	size_t pos = 0, n;
	long r = open_at(from, path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY);
	int dir = (int)r;

	while (r >= 0 && (n = next_name(path, &pos, name)) > 0)
		r = n < FILES_NAME_SIZE ? step_into(&dir, name, is_last(path, pos) ? mode : 0755)
					: -ENAMETOOLONG;
	if (r >= 0)
		return dir;
	if (dir >= 0)
		(void)sys1(SYS_close, dir);
	return r;
}

long files_make_dirs(const char *path, uint32_t mode)
{
	long r = make_way(AT_FDCWD, path, mode);

	if (r < 0)
		return r;
	(void)sys1(SYS_close, r);
	return 0;
}

static int is_dots(const char *name)
{
	return str_eq(name, ".") || str_eq(name, "..");
}

/* Where `path` is, seen from `from`; its last name need not exist. */
static long enter(int from, const char *path, int parents, struct spot *ret)
{
	static char way[FILES_PATH_SIZE];
	size_t end = str_len(path), start;

	while (end > 0 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/'; start--)
		;
	if (end == start)
		return -EINVAL;
	if (end - start >= FILES_NAME_SIZE)
		return -ENAMETOOLONG;
	for (size_t i = start; i < end; i++)
		ret->name[i - start] = path[i];
	ret->name[end - start] = '\0';
	if (is_dots(ret->name))
		return -EINVAL;
	for (size_t i = 0; i < start; i++)
		way[i] = path[i];
	way[start] = '\0';
	if (!start)
		way[start++] = '.', way[start] = '\0';
	long dir = parents ? make_way(from, way, 0755) : open_at(from, way, O_PATH | O_DIRECTORY);
	if (dir < 0)
		return dir;
	ret->dir = (int)dir;
	if (!is_proc((int)dir))
		return 0;
	files_spot_done(ret); /* what looks like a link there is none */
	return -EACCES;
}

long files_spot_from(int from, const char *path, struct spot *ret)
{
	return enter(from, path, 0, ret);
}

long files_spot(const char *path, int follow, int parents, struct spot *ret)
{
	static char target[FILES_PATH_SIZE];
	long r = enter(AT_FDCWD, path, parents, ret);

	for (int links = 0; r >= 0 && follow; links++) {
		long n = sys4(SYS_readlinkat, ret->dir, ret->name, target, sizeof(target) - 1);

		if (n == -EINVAL || n == -ENOENT)
			return 0; /* not a link, or not there yet */
		int from = ret->dir;
		r = n < 0 ? n : links == LINKS_MAX ? -ELOOP : 0;
		if (r >= 0) {
			target[n] = '\0';
			r = enter(from, target, parents, ret);
		}
		(void)sys1(SYS_close, from);
	}
	return r;
}

void files_spot_done(struct spot *s)
{
	(void)sys1(SYS_close, s->dir);
}
