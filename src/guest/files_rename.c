/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rename() of a directory that lies in a lower layer, which overlayfs refuses (EXDEV): the file
 * server does it name by name, for a program that waits (sandbox/move.h).
 *
 * A new directory is made beside where it is to be, with links to all files: overlayfs copies each
 * up first, as mv would. It is then put in place by one rename, and only then does the old one go,
 * name by name, and of it nothing but what has been linked: what somebody put there meanwhile
 * stays. Until the new one is in place nothing of the old is lost, so whatever goes wrong before is
 * an error, the new one is removed, and the program hears what the kernel says.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/sys.h"
#include "guest/files_int.h"
#include "guest/guest.h"
#include "kernel/seccomp.h"

#define DEPTH_MAX 128 /* two descriptors each */
#define LINKED_MAX 4096u
#define LINKED_BYTES 262144u
#define ATTRS_MAX 16384
#define NOREPLACE 1u

/* Files with several names, and where the first of them is now. */
static struct {
	uint64_t ino;
	uint32_t at; /* in `names` */
} linked[LINKED_MAX];
static char names[LINKED_BYTES];
static uint32_t n_linked, names_len;

static char way[FILES_PATH_SIZE]; /* from the new directory to where we are */
static size_t way_len;
static int top;		 /* the new directory */
static int64_t begun_ns; /* when it was made */

static long rename_at(const struct spot *from, const struct spot *to, uint32_t flags)
{
	return sys5(SYS_renameat2, from->dir, from->name, to->dir, to->name,
		    SECCOMP_MOVE_FLAGS(flags));
}

static int is_dots(const char *name)
{
	return str_eq(name, ".") || str_eq(name, "..");
}

static long open_dir(int dir, const char *name)
{
	return sys3(SYS_openat, dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Add a name to `way`; what was there before is in *ret_len. */
static int way_push(const char *name, size_t *ret_len)
{
	size_t len = str_len(name);

	*ret_len = way_len;
	if (way_len + len + 2 > sizeof(way))
		return -ENAMETOOLONG;
	if (way_len)
		way[way_len++] = '/';
	for (size_t i = 0; i <= len; i++)
		way[way_len + i] = name[i];
	way_len += len;
	return 0;
}

static void way_pop(size_t len)
{
	way_len = len;
	way[len] = '\0';
}

/* Where a file with this number is already, or NULL, and then it is remembered as `way`, if there is
 * room: without it the two names are two files. */
static const char *find_linked(uint64_t ino)
{
	for (uint32_t i = 0; i < n_linked; i++)
		if (linked[i].ino == ino)
			return names + linked[i].at;
	if (n_linked == LINKED_MAX || names_len + way_len + 1 > LINKED_BYTES)
		return NULL;
	linked[n_linked].ino = ino;
	linked[n_linked++].at = names_len;
	for (size_t i = 0; i <= way_len; i++)
		names[names_len++] = way[i];
	return NULL;
}

static long link_file(int from, int to, const char *name)
{
	const char *first = NULL;
	struct stat st;
	size_t before;
	long r = sys4(SYS_newfstatat, from, name, &st, AT_SYMLINK_NOFOLLOW);

	if (r >= 0 && st.st_nlink > 1 && S_ISREG(st.st_mode)) {
		r = way_push(name, &before);
		if (r >= 0)
			first = find_linked(st.st_ino);
		way_pop(before);
	}
	if (r < 0)
		return r;
	/* By the time it is linked its number may be another: it was copied. */
	if (first && sys5(SYS_linkat, top, first, to, name, 0) >= 0)
		return 0;
	return sys5(SYS_linkat, from, name, to, name, 0);
}

static long copy_attrs(int from, int to)
{
	static char list[ATTRS_MAX], value[65536];
	long n = sys3(SYS_flistxattr, from, list, sizeof(list));

	if (n == -EOPNOTSUPP)
		return 0;
	for (long at = 0; at < n; at += (long)str_len(list + at) + 1) {
		const char *name = list + at;

		if (name[0] != 'u' || name[1] != 's' || name[2] != 'e' || name[3] != 'r')
			continue; /* others are not a command's */
		long len = sys4(SYS_fgetxattr, from, name, value, sizeof(value));
		long r = len < 0 ? len : sys5(SYS_fsetxattr, to, name, value, len, 0);
		if (r < 0)
			return r;
	}
	return n < 0 ? n : 0;
}

static long copy_meta(int from, int to)
{
	struct stat st, made;
	long r = sys2(SYS_fstat, from, &st);

	if (r >= 0)
		r = sys2(SYS_fstat, to, &made);
	if (r >= 0 && (st.st_uid != made.st_uid || st.st_gid != made.st_gid))
		r = sys3(SYS_fchown, to, st.st_uid, st.st_gid);
	if (r >= 0)
		r = copy_attrs(from, to);
	if (r >= 0)
		r = sys2(SYS_fchmod, to, st.st_mode & 07777);
	const struct timespec times[2] = {st.st_atim, st.st_mtim};
	return r < 0 ? r : sys4(SYS_utimensat, to, NULL, times, 0);
}

typedef long each_fn(int old, int new, const char *name, unsigned depth);

/* Every name of `old` but the two. The listing is the kernel's own and does not change under us. */
static long for_each(int old, int new, unsigned depth, each_fn *dir, each_fn *other)
{
	char buf[1024] __attribute__((aligned(8)));
	long have, r = 0;

	while (r >= 0 && (have = sys3(SYS_getdents64, old, buf, sizeof(buf))) > 0) {
		for (long pos = 0; r >= 0 && pos < have;) {
			const struct dirent_head *d = (const void *)(buf + pos);

			pos += d->reclen;
			if (!is_dots(d->name))
				r = (d->type == DT_DIR ? dir : other)(old, new, d->name, depth);
		}
		files_working();
	}
	return r < 0 ? r : have;
}

static long link_other(int old, int new, const char *name, unsigned depth)
{
	(void)depth;
	return link_file(old, new, name);
}

static long link_dir(int old, int new, const char *name, unsigned depth)
{
	size_t before;
	int in_way = 0;
	long from = -1, to = -1,
	     r = depth == DEPTH_MAX ? -E2BIG : sys3(SYS_mkdirat, new, name, 0700);

	if (r >= 0)
		r = from = open_dir(old, name);
	if (r >= 0)
		r = to = open_dir(new, name);
	if (r >= 0)
		r = in_way = way_push(name, &before) >= 0 ? 1 : -ENAMETOOLONG;
	if (r >= 0)
		r = for_each((int)from, (int)to, depth + 1, link_dir, link_other);
	if (in_way > 0)
		way_pop(before);
	if (r >= 0)
		r = copy_meta((int)from, (int)to);
	if (from >= 0)
		(void)sys1(SYS_close, from);
	if (to >= 0)
		(void)sys1(SYS_close, to);
	return r;
}

static int64_t nanoseconds(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

/* The same file under both names, so one of them is enough: overlayfs numbers the two differently,
 * but what changes one changes both. A second name of a file was linked to the first one's copy:
 * then it has not changed since before we began. */
static int is_moved(const struct stat *old, const struct stat *new)
{
	return old->st_mode == new->st_mode &&
	       old->st_size == new->st_size &&nanoseconds(&old->st_mtim) ==
		       nanoseconds(&new->st_mtim) &&
	       (nanoseconds(&old->st_ctim) == nanoseconds(&new->st_ctim) ||
		nanoseconds(&old->st_ctim) < begun_ns);
}

static long drop_other(int old, int new, const char *name, unsigned depth)
{
	struct stat a, b;

	(void)depth;
	if (sys4(SYS_newfstatat, old, name, &a, AT_SYMLINK_NOFOLLOW) >= 0 &&
	    sys4(SYS_newfstatat, new, name, &b, AT_SYMLINK_NOFOLLOW) >= 0 && is_moved(&a, &b))
		(void)sys3(SYS_unlinkat, old, name, 0); /* or it stays */
	return 0;
}

static each_fn drop_dir;

static void drop_pair(const struct spot *from, const struct spot *to, unsigned depth)
{
	long old = open_dir(from->dir, from->name), new = open_dir(to->dir, to->name);
	struct stat st;

	/* One that may not be written to may be renamed. */
	if (old >= 0 && sys2(SYS_fstat, old, &st) >= 0 && (st.st_mode & 0300) != 0300)
		(void)sys2(SYS_fchmod, old, 0700);
	if (old >= 0 && new >= 0)
		(void)for_each((int)old, (int)new, depth, drop_dir, drop_other);
	if (old >= 0)
		(void)sys1(SYS_close, old);
	if (new >= 0)
		(void)sys1(SYS_close, new);
	/* Or there is something new in it. */
	(void)sys3(SYS_unlinkat, from->dir, from->name, AT_REMOVEDIR);
}

static long drop_dir(int old, int new, const char *name, unsigned depth)
{
	struct spot from = {.dir = old}, to = {.dir = new};
	size_t i = 0;

	do
		from.name[i] = to.name[i] = name[i];
	while (name[i++]);
	drop_pair(&from, &to, depth + 1);
	return 0;
}

/* What the kernel would say first, before it costs anything. */
static long check(const struct spot *from, const struct spot *to, uint32_t flags)
{
	struct stat a, b, there;

	if (flags & ~NOREPLACE)
		return -EXDEV;
	if (sys2(SYS_fstat, from->dir, &a) < 0 || sys2(SYS_fstat, to->dir, &b) < 0 ||
	    a.st_dev != b.st_dev)
		return -EXDEV; /* it is another filesystem, as it said */
	if (sys4(SYS_newfstatat, to->dir, to->name, &there, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (flags & NOREPLACE)
		return -EEXIST;
	if (!S_ISDIR(there.st_mode))
		return -ENOTDIR;
	char buf[256] __attribute__((aligned(8)));
	long fd = open_dir(to->dir, to->name), have, r = fd < 0 ? fd : 0;

	while (r >= 0 && (have = sys3(SYS_getdents64, fd, buf, sizeof(buf))) > 0)
		for (long pos = 0; pos < have;
		     pos += ((const struct dirent_head *)(buf + pos))->reclen)
			if (!is_dots(((const struct dirent_head *)(buf + pos))->name))
				r = -ENOTEMPTY;
	if (fd >= 0)
		(void)sys1(SYS_close, fd);
	return r;
}

/* A name that nobody else has. */
static void make_name(char to[FILES_NAME_SIZE])
{
	static const char prefix[] = ".pinfold-rename-";
	size_t at = sizeof(prefix) - 1;

	for (size_t i = 0; i < at; i++)
		to[i] = prefix[i];
	for (uint64_t n = guest_now_ns(); n; n >>= 4)
		to[at++] = "0123456789abcdef"[n & 15];
	to[at] = '\0';
}

static long by_names(const struct spot *from, const struct spot *to, uint32_t flags)
{
	struct spot made = {.dir = to->dir};
	struct stat st = {0};
	long r = check(from, to, flags), old = -1, new = -1;

	if (r < 0)
		return r;
	make_name(made.name);
	n_linked = names_len = 0;
	way_pop(0);
	r = sys3(SYS_mkdirat, made.dir, made.name, 0700);
	if (r < 0)
		return r;
	r = old = open_dir(from->dir, from->name);
	if (r >= 0)
		r = new = open_dir(made.dir, made.name);
	top = (int)new;
	if (r >= 0)
		r = sys2(SYS_fstat, new, &st);
	begun_ns = nanoseconds(&st.st_ctim);
	if (r >= 0)
		r = for_each((int)old, (int)new, 0, link_dir, link_other);
	if (r >= 0)
		r = copy_meta((int)old, (int)new);
	if (r >= 0)
		r = rename_at(&made, to, flags);
	if (old >= 0)
		(void)sys1(SYS_close, old);
	if (new >= 0)
		(void)sys1(SYS_close, new);
	if (r < 0)
		(void)files_remove_at(&made, 1); /* or what is left of it is seen */
	else
		drop_pair(from, to, 0);
	return r;
}

long files_rename(const struct files_ask *ask, const int fds[2])
{
	int n = 0, dirs[2] = {AT_FDCWD, AT_FDCWD};
	struct spot from, to;

	if (ask->flags & FILES_FROM_FD)
		dirs[0] = fds[n++];
	if (ask->flags & FILES_TO_FD)
		dirs[1] = fds[n++];
	if ((n > 0 && fds[n - 1] < 0) || files_spot_from(dirs[0], files_ask_path(ask), &from) < 0)
		return -EBADF;
	long r = files_spot_from(dirs[1], files_ask_path2(ask), &to);
	if (r >= 0) {
		r = rename_at(&from, &to, ask->mode);
		if (r == -EXDEV)
			r = by_names(&from, &to, ask->mode);
		files_spot_done(&to);
	}
	files_spot_done(&from);
	return r;
}
