/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories of the file server: what one holds, and removing one with all that is below. The host
 * side sorts and goes deeper by asking again; here is no heap to hold a large directory.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include "base/sys.h"
#include "guest/files_int.h"
#include "guest/guest.h"

#define DEPTH_MAX 65536
#define STEPS_MAX 4000000u

/* Entries that have not been sent yet. */
static char batch[FILES_DATA_MAX];
static uint32_t batched;

static void send_batch(int more)
{
	struct files_answer answer = {.more = (uint32_t)more, .len = batched};

	files_say(&answer, batch, -1);
	batched = 0;
}

static void put(const void *data, size_t len)
{
	const char *from = data;

	for (size_t i = 0; i < len; i++)
		batch[batched++] = from[i];
}

static void put_entry(int dir, const char *name)
{
	static char target[FILES_PATH_SIZE];
	struct files_entry entry = {.name_len = (uint32_t)str_len(name)};
	struct stat st;

	if (sys4(SYS_newfstatat, dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return; /* it went meanwhile */
	if (S_ISLNK(st.st_mode)) {
		long n = sys4(SYS_readlinkat, dir, name, target, sizeof(target) - 1);

		entry.target_len = n > 0 ? (uint32_t)n : 0;
	}
	files_fill(&entry.info, &st);
	if (batched + sizeof(entry) + entry.name_len + entry.target_len > sizeof(batch))
		send_batch(1);
	put(&entry, sizeof(entry));
	put(name, entry.name_len);
	put(target, entry.target_len);
}

static int is_dots(const char *name)
{
	return str_eq(name, ".") || str_eq(name, "..");
}

/* Opened as a directory or not at all, so that nothing else is ever waited for. */
static long open_dir(const struct files_ask *ask)
{
	long path = files_look(files_ask_path(ask), (ask->flags & FILES_NOFOLLOW) != 0);

	if (path < 0)
		return path;
	long fd = files_reopen((int)path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
	(void)sys1(SYS_close, path);
	return fd;
}

long files_list(const struct files_ask *ask)
{
	static char buf[8192] __attribute__((aligned(8)));
	long have, fd = open_dir(ask);

	if (fd < 0)
		return fd;
	batched = 0;
	while ((have = sys3(SYS_getdents64, fd, buf, sizeof(buf))) > 0) {
		for (long pos = 0; pos < have;) {
			const struct dirent_head *d = (const void *)(buf + pos);

			pos += d->reclen;
			if (!is_dots(d->name))
				put_entry((int)fd, d->name);
		}
		files_working();
	}
	(void)sys1(SYS_close, fd);
	if (have < 0)
		return have;
	send_batch(0);
	return 1;
}

/* Who a directory is, to know it again. */
struct place {
	uint64_t dev, ino;
};

static struct place places[DEPTH_MAX];

static long identify(int fd, struct place *ret)
{
	struct stat st;
	long r = sys2(SYS_fstat, fd, &st);

	*ret = (struct place){st.st_dev, st.st_ino};
	return r;
}

/* Back to the directory above, if it still is the one that we came from: it may have been moved,
 * and then its ".." is somebody else's. */
static long ascend(int *fd, uint32_t *depth)
{
	struct place up;
	long next = sys3(SYS_openat, *fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long r = next < 0 ? next : identify((int)next, &up);

	(*depth)--;
	if (r >= 0 && (up.dev != places[*depth].dev || up.ino != places[*depth].ino))
		r = -ESTALE;
	if (r < 0) {
		if (next >= 0)
			(void)sys1(SYS_close, next);
		return r;
	}
	(void)sys1(SYS_close, *fd);
	*fd = (int)next;
	return 0;
}

static long descend(int *fd, uint32_t *depth, const char *name)
{
	long next = -E2BIG;

	if (*depth + 1 < DEPTH_MAX)
		next = sys3(SYS_openat, *fd, name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (next < 0)
		return next;
	long r = identify(*fd, &places[*depth]);
	(*depth)++;
	(void)sys1(SYS_close, *fd);
	*fd = (int)next;
	return r;
}

/* Remove what some names say; 1: one is a directory that is not empty, and *ret_name it. */
static long remove_some(int fd, const char *buf, long have, const char **ret_name)
{
	for (long pos = 0; pos < have;) {
		const struct dirent_head *d = (const void *)(buf + pos);

		pos += d->reclen;
		if (is_dots(d->name))
			continue;
		/* Landlock looks at all directories above with every call: not one too many. */
		long r = d->type == DT_DIR ? -EISDIR : sys3(SYS_unlinkat, fd, d->name, 0);
		if (r == -EISDIR)
			r = sys3(SYS_unlinkat, fd, d->name, AT_REMOVEDIR);
		*ret_name = d->name;
		if (r == -ENOTEMPTY)
			return 1;
		if (r < 0 && r != -ENOENT)
			return r;
	}
	return 0;
}

/* Everything below *fd, which is in the end that directory again. A directory is read from its
 * beginning whenever we come back to it: what was there first is gone by then. */
static long empty(int *fd)
{
	static char buf[2048] __attribute__((aligned(8)));
	uint32_t depth = 0, steps = 0;
	const char *name = NULL;

	for (;;) {
		long have = sys3(SYS_getdents64, *fd, buf, sizeof(buf));

		files_working();
		if (have < 0)
			return have;
		if (steps++ == STEPS_MAX)
			return -E2BIG; /* somebody fills it faster */
		if (have == 0 && depth == 0)
			return 0;
		long r = have ? remove_some(*fd, buf, have, &name) : ascend(fd, &depth);
		if (r == 1)
			r = descend(fd, &depth, name);
		if (r < 0)
			return r;
	}
}

long files_remove_at(const struct spot *s, int below)
{
	long r = sys3(SYS_unlinkat, s->dir, s->name, 0);

	if (r == -EISDIR)
		r = sys3(SYS_unlinkat, s->dir, s->name, AT_REMOVEDIR);
	if (r == -ENOTEMPTY && below) {
		long fd = sys3(SYS_openat, s->dir, s->name,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		r = fd;
		int top = (int)fd;
		if (r >= 0)
			r = empty(&top);
		if (top >= 0)
			(void)sys1(SYS_close, top);
		if (r >= 0)
			r = sys3(SYS_unlinkat, s->dir, s->name, AT_REMOVEDIR);
	}
	return r;
}

long files_remove(const char *path, int below)
{
	struct spot s;
	long r = files_spot(path, 0, 0, &s);

	if (r < 0)
		return r;
	r = files_remove_at(&s, below);
	files_spot_done(&s);
	return r;
}
