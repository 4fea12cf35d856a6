/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are written from outside. The bytes go to a file without a name, which the host side
 * has a descriptor of; when it says so, the file gets its name, in one step, in the place of an
 * older one. Where a filesystem has no files without a name it is a hidden one, removed when
 * nothing came of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>

#include "base/sys.h"
#include "guest/files_int.h"
#include "guest/guest.h"

#define TEMP_SIZE 32

struct writer {
	int used;
	int fd;
	uint32_t flags;
	struct spot at;
	char temp[TEMP_SIZE]; /* its name meanwhile, "" for none */
};

static struct writer writers[FILES_WRITERS_MAX];

static void make_name(char to[TEMP_SIZE])
{
	static const char prefix[] = ".pinfold-";
	uint64_t random = 0;
	size_t n = sizeof(prefix) - 1;

	(void)sys3(SYS_getrandom, &random, sizeof(random), 0); /* O_EXCL catches the rest */
	for (size_t i = 0; i < n; i++)
		to[i] = prefix[i];
	for (unsigned i = 0; i < 13; i++, random >>= 5)
		to[n++] = "abcdefghijklmnopqrstuvwxyz234567"[random & 31];
	to[n] = '\0';
}

/* 0: there is none, or one that may be replaced. */
static long check_old(const struct spot *at, uint32_t flags, uint32_t *mode)
{
	struct stat st;
	long r = sys4(SYS_newfstatat, at->dir, at->name, &st, AT_SYMLINK_NOFOLLOW);

	if (*mode == FILES_MODE_OLD)
		*mode = r < 0 ? 0644 : st.st_mode & 0777;
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (flags & FILES_NEW)
		return -EEXIST;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -ENXIO;
	/* Replacing asks only for the directory's leave; a program would need the file's. */
	return sys3(SYS_faccessat, at->dir, at->name, 2);
}

static long open_new(struct writer *w, uint32_t mode)
{
	long fd = sys4(SYS_openat, w->at.dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);

	w->temp[0] = '\0';
	if (fd != -EOPNOTSUPP && fd != -EISDIR && fd != -EINVAL)
		return fd;
	make_name(w->temp);
	return sys4(SYS_openat, w->at.dir, w->temp,
		    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
}

long files_write(const struct files_ask *ask, struct files_answer *answer, int *ret_fd)
{
	uint32_t n = 0, mode = ask->mode;

	while (n < FILES_WRITERS_MAX && writers[n].used)
		n++;
	if (n == FILES_WRITERS_MAX)
		return -EMFILE;
	struct writer *w = &writers[n];
	long r = files_spot(files_ask_path(ask), 1, (ask->flags & FILES_PARENTS) != 0, &w->at);
	if (r < 0)
		return r;
	w->flags = ask->flags;
	r = check_old(&w->at, ask->flags, &mode);
	if (r >= 0)
		r = open_new(w, mode);
	if (r < 0) {
		files_spot_done(&w->at);
		return r;
	}
	w->fd = *ret_fd = (int)r;
	w->used = 1;
	answer->value = n;
	return 0;
}

/* Whoever executes it as soon as it has a name must not find that it is still open to write. */
static long close_for_writing(struct writer *w)
{
	long path = files_reopen(w->fd, O_PATH | O_CLOEXEC);

	if (path < 0)
		return path;
	(void)sys1(SYS_close, w->fd);
	w->fd = (int)path;
	return 0;
}

static long link_as(const struct writer *w, const char *name)
{
	char own[32];

	files_own_path(own, w->fd);
	return sys5(SYS_linkat, AT_FDCWD, own, w->at.dir, name, AT_SYMLINK_FOLLOW);
}

/* -EEXIST with FILES_NEW only. */
static long place(struct writer *w)
{
	long r = close_for_writing(w);

	if (r >= 0 && !w->temp[0]) {
		r = link_as(w, w->at.name);
		if (r != -EEXIST || (w->flags & FILES_NEW))
			return r;
		make_name(w->temp);
		r = link_as(w, w->temp);
		if (r < 0)
			w->temp[0] = '\0';
	}
	if (r >= 0)
		r = sys5(SYS_renameat2, w->at.dir, w->temp, w->at.dir, w->at.name,
			 w->flags & FILES_NEW ? RENAME_NOREPLACE : 0);
	if (r >= 0)
		w->temp[0] = '\0';
	return r;
}

static long append(struct writer *w)
{
	struct stat st;
	long to = sys3(SYS_openat, w->at.dir, w->at.name,
		       O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);

	if (to == -ENOENT) {
		w->flags |= FILES_NEW;
		return place(w);
	}
	if (to < 0)
		return to;
	long from = -1, r = files_check_regular((int)to, &st);
	if (r >= 0)
		r = from = files_reopen(w->fd, O_RDONLY | O_CLOEXEC);
	if (r >= 0)
		r = files_copy((int)from, (int)to);
	if (from >= 0)
		(void)sys1(SYS_close, from);
	(void)sys1(SYS_close, to);
	return r;
}

static void done(struct writer *w)
{
	if (w->temp[0])
		(void)sys3(SYS_unlinkat, w->at.dir, w->temp, 0);
	(void)sys1(SYS_close, w->fd);
	files_spot_done(&w->at);
	w->used = 0;
}

long files_commit(uint32_t writer)
{
	if (writer >= FILES_WRITERS_MAX || !writers[writer].used)
		return -EBADF;
	struct writer *w = &writers[writer];
	long r = w->flags & FILES_APPEND ? append(w) : place(w);
	if (r == -EEXIST && (w->flags & FILES_APPEND))
		r = append(
			w); /* somebody was faster; it is not a link to another now: O_NOFOLLOW */
	done(w);
	return r < 0 ? r : 0;
}

long files_abort(uint32_t writer)
{
	if (writer >= FILES_WRITERS_MAX || !writers[writer].used)
		return -EBADF;
	done(&writers[writer]);
	return 0;
}

void files_abort_all(void)
{
	for (uint32_t i = 0; i < FILES_WRITERS_MAX; i++)
		if (writers[i].used)
			done(&writers[i]);
}

/* Between two mounts of the sandbox, such as /tmp and /home/user: as mv does it. */
static long copy_over(const struct spot *from, const struct spot *to)
{
	static struct writer w;
	struct stat st;
	long fd = sys3(SYS_openat, from->dir, from->name,
		       O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return fd;
	long r = files_check_regular((int)fd, &st);
	if (r >= 0) {
		w = (struct writer){.at = *to};
		r = w.fd = (int)open_new(&w, st.st_mode & 0777);
	}
	if (r >= 0) {
		const struct timespec times[2] = {st.st_atim, st.st_mtim};

		r = files_copy((int)fd, w.fd);
		if (r >= 0)
			r = sys4(SYS_utimensat, w.fd, NULL, times, 0);
		if (r >= 0)
			r = place(&w);
		if (r < 0 && w.temp[0])
			(void)sys3(SYS_unlinkat, w.at.dir, w.temp, 0);
		(void)sys1(SYS_close, w.fd);
	}
	(void)sys1(SYS_close, fd);
	return r < 0 ? r : sys3(SYS_unlinkat, from->dir, from->name, 0);
}

long files_move(const struct files_ask *ask)
{
	struct spot from, to;
	struct stat st;
	long r = files_spot(files_ask_path(ask), 0, 0, &from);

	if (r < 0)
		return r;
	r = files_spot(files_ask_path2(ask), 0, 0, &to);
	if (r < 0) {
		files_spot_done(&from);
		return r;
	}
	r = sys4(SYS_renameat, from.dir, from.name, to.dir, to.name);
	if (r == -EXDEV &&
	    sys4(SYS_newfstatat, from.dir, from.name, &st, AT_SYMLINK_NOFOLLOW) >= 0 &&
	    S_ISREG(st.st_mode))
		r = copy_over(&from, &to);
	files_spot_done(&from);
	files_spot_done(&to);
	return r;
}
