/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the tree in order, when all that is needed lies whole in the partial directory: what is gone
 * is removed, from the leaves up; directories, links and files are put in place, from the top down;
 * modes of directories come last, because they may forbid all that.
 *
 * The tree may be full of links that lead elsewhere: names are only used with the descriptor of
 * their directory, which was opened without following any (place.h).
 */
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/statfs.h>

#include "base/fd.h"
#include "sync/digest.h"
#include "sync/receive_int.h"

#define HOLE_BYTES (64u << 10)

struct applying {
	struct receiver *r;
	struct place place;
	bool unlocked; /* a directory's mode was changed to write there */
};

static bool unlock(struct applying *a, int dir)
{
	a->unlocked = true;
	return place_unlock(dir) == 0;
}

static int failed(int result, const char *path, struct err *e)
{
	errno = -result;
	return err_sys(e, "%.200s", path);
}

static int remove_one(struct applying *a, const struct manifest_entry *was, struct err *e)
{
	bool is_dir = was->kind == MANIFEST_DIR;
	const char *name = NULL;
	int dir = place_at(&a->place, was->path, &name);

	if (dir < 0)
		return place_is_missing(dir) ? 0 : failed(dir, was->path, e);
	int result = unlinkat(dir, name, is_dir ? AT_REMOVEDIR : 0) < 0 ? -errno : 1;
	if (result == -EACCES && unlock(a, dir))
		result = unlinkat(dir, name, is_dir ? AT_REMOVEDIR : 0) < 0 ? -errno : 1;
	if (result == 1)
		a->r->stats->files_gone += !is_dir;
	/* Not there, something else by now, or with things in it that were not the sender's. */
	if (result == 1 || place_is_missing(result) || result == -EISDIR || result == -ENOTEMPTY ||
	    result == -EEXIST)
		return 0;
	return failed(result, was->path, e);
}

static int remove_gone(struct applying *a, struct err *e)
{
	const struct manifest *old = &a->r->old.tree, *new = &a->r->tree;
	size_t at = new->n;
	int result = 0;

	for (size_t i = old->n; i-- > 0 && result == 0;) {
		const struct manifest_entry *was = &old->entries[i];
		int order = 1;

		while (at > 0 &&
		       (order = manifest_path_cmp(new->entries[at - 1].path, was->path)) > 0)
			at--;
		const struct manifest_entry *now = at && order == 0 ? &new->entries[at - 1] : NULL;
		if (now && (now->kind == MANIFEST_DIR) == (was->kind == MANIFEST_DIR))
			continue;
		result = remove_one(a, was, e);
		if (was->kind == MANIFEST_DIR)
			place_forget(&a->place);
	}
	return result;
}

/* Something is where `name` is to be, which cannot be renamed over. */
static int clear_way(struct applying *a, int dir, const char *name)
{
	if (a->r->opts->mirror)
		return place_remove(dir, name);
	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	return unlinkat(dir, name, AT_REMOVEDIR) == 0 ? 0 : -errno;
}

static int make_dir(struct applying *a, int dir, const char *name)
{
	int result = mkdirat(dir, name, 0700) < 0 ? -errno : 0;

	if (result == -EEXIST) {
		result = clear_way(a, dir, name);
		if (result == 0 && mkdirat(dir, name, 0700) < 0)
			result = -errno;
	}
	return result;
}

static void fresh_name(char ret[32])
{
	uint64_t number = 0;

	if (getrandom(&number, sizeof(number), 0) < 0)
		number = (uint64_t)getpid(); /* O_EXCL notices if it is taken */
	(void)snprintf(ret, 32, ".pinfold-%016llx", (unsigned long long)number);
}

/* Over whatever is there. */
static int rename_over(struct applying *a, int from_dir, const char *from, int dir,
		       const char *name)
{
	int result = renameat(from_dir, from, dir, name) < 0 ? -errno : 0;

	if (result == -EISDIR || result == -ENOTEMPTY || result == -EEXIST) {
		result = clear_way(a, dir, name);
		if (result == 0 && renameat(from_dir, from, dir, name) < 0)
			result = -errno;
	}
	return result;
}

/* Pieces of nothing but zeros stay holes: a large and empty file takes no room, here as there. */
static int write_pieces(int fd, const uint8_t *data, size_t len, uint64_t at)
{
	size_t from = 0;
	int result = 0;

	for (size_t i = 0, n; i < len && result == 0; i += n) {
		n = len - i < HOLE_BYTES ? len - i : HOLE_BYTES;
		if (data[i] != 0 || memcmp(data + i, data + i + 1, n - 1) != 0)
			continue;
		if (i > from)
			result = fd_pwrite_all(fd, data + from, i - from, at + from);
		from = i + n;
	}
	return result < 0 || from >= len ? result
					 : fd_pwrite_all(fd, data + from, len - from, at + from);
}

/* Without a name, where the file system can do that: who is killed meanwhile leaves nothing. */
static int open_fresh(const struct receiver *r, int dir, char ret_name[32])
{
	int fd = r->opts->on_host ? openat(dir, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600)
				  : FD_NONE;

	ret_name[0] = '\0';
	if (fd >= 0)
		return fd;
	fresh_name(ret_name);
	return openat(dir, ret_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static int name_fresh(int fd, int dir, char ret_name[32])
{
	char path[40];

	fresh_name(ret_name);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, path, dir, ret_name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/* The partial directory is on another file system. */
static int copy_over(struct applying *a, const char *from, int dir, const char *name,
		     const struct manifest_entry *entry)
{
	struct timespec times[2] = {
		{.tv_nsec = UTIME_OMIT},
		{.tv_sec = entry->mtime_s, .tv_nsec = entry->mtime_ns},
	};
	uint64_t at = 0;
	char temp[32];
	size_t n = 1;
	int result = 0;

	/* It has the mode already that it is to have, which may keep us from reading it. */
	(void)place_set_mode(a->r->partial, from, 0600);
	auto_close int in = openat(a->r->partial, from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	auto_close int out = open_fresh(a->r, dir, temp);
	if (in < 0 || out < 0)
		return -errno;
	while (result == 0 && n > 0) {
		result = fd_read_max(in, a->r->buffer, DIGEST_BUFFER, &n);
		if (result == 0)
			result = write_pieces(out, a->r->buffer, n, at);
		at += n;
	}
	if (result == 0 && ftruncate(out, (off_t)at) < 0)
		result = -errno;
	if (result == 0 && (futimens(out, times) < 0 || fchmod(out, mode_here(a->r, entry)) < 0))
		result = -errno;
	if (result == 0 && !temp[0])
		result = name_fresh(out, dir, temp);
	if (result == 0)
		result = rename_over(a, dir, temp, dir, name);
	if (result < 0 && temp[0])
		(void)unlinkat(dir, temp, 0); /* told by the caller */
	if (result == 0)
		(void)unlinkat(a->r->partial, from, 0); /* cleared at the end, if not now */
	return result;
}

static int move_in(struct applying *a, const char *from, int dir, const char *name,
		   const struct manifest_entry *entry)
{
	int result = rename_over(a, a->r->partial, from, dir, name);

	if (result == -EXDEV && entry->kind == MANIFEST_FILE)
		result = copy_over(a, from, dir, name, entry);
	return result;
}

static int make_link(struct applying *a, int dir, const char *name,
		     const struct manifest_entry *entry)
{
	char temp[32];

	fresh_name(temp);
	if (symlinkat(entry->target, a->r->partial, temp) < 0)
		return -errno;
	int result = move_in(a, temp, dir, name, entry);
	if (result != -EXDEV) {
		if (result < 0)
			(void)unlinkat(a->r->partial, temp, 0);
		return result;
	}
	(void)unlinkat(a->r->partial, temp, 0);
	if (symlinkat(entry->target, dir, temp) < 0)
		return -errno;
	result = rename_over(a, dir, temp, dir, name);
	if (result < 0)
		(void)unlinkat(dir, temp, 0); /* told by the caller */
	return result;
}

static int make_once(struct applying *a, size_t i, int dir, const char *name)
{
	const struct manifest_entry *entry = &a->r->tree.entries[i];
	char from[PARTIAL_NAME_SIZE];

	switch ((enum manifest_kind)entry->kind) {
	case MANIFEST_DIR: return make_dir(a, dir, name);
	case MANIFEST_LINK: return make_link(a, dir, name, entry);
	case MANIFEST_FILE: partial_name(a->r, i, from); return move_in(a, from, dir, name, entry);
	case MANIFEST_GONE: break;
	}
	return -EINVAL;
}

static int put_one(struct applying *a, size_t i, struct err *e)
{
	struct receiver *r = a->r;
	const struct manifest_entry *entry = &r->tree.entries[i];
	const char *name = NULL;
	int dir = place_at(&a->place, entry->path, &name), result = dir < 0 ? dir : 0;
	struct stat st;

	if (result == 0 && r->todo[i] == TODO_MAKE) {
		result = make_once(a, i, dir, name);
		if (result == -EACCES && unlock(a, dir))
			result = make_once(a, i, dir, name);
		r->stats->files_made += entry->kind != MANIFEST_DIR;
	} else if (result == 0 && entry->kind == MANIFEST_FILE) {
		struct timespec times[2] = {
			{.tv_nsec = UTIME_OMIT},
			{.tv_sec = entry->mtime_s, .tv_nsec = entry->mtime_ns},
		};
		r->stats->files_set++;
		result = place_set_mode(dir, name, mode_here(a->r, entry));
		if (result == 0 && utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW) < 0)
			result = -errno;
	}
	if (result == 0 && entry->kind == MANIFEST_FILE) {
		if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			result = -errno;
		else
			r->stats_now[i] = index_stat_of(&st);
	}
	return result < 0 ? failed(result, entry->path, e) : 0;
}

static int put_all(struct applying *a, struct err *e)
{
	int result = 0;

	for (size_t i = 0; i < a->r->tree.n && result == 0; i++)
		if (a->r->todo[i] != TODO_NOTHING)
			result = put_one(a, i, e);
	return result;
}

/* From the leaves up. */
static int dress_dirs(struct applying *a, struct err *e)
{
	const struct manifest *tree = &a->r->tree;
	int result = 0;

	for (size_t i = tree->n; i-- > 0 && result == 0;) {
		const struct manifest_entry *entry = &tree->entries[i];
		const char *name = NULL;
		struct stat st;

		if (entry->kind != MANIFEST_DIR || (a->r->todo[i] == TODO_NOTHING && !a->unlocked))
			continue;
		int dir = place_at(&a->place, entry->path, &name);
		if (dir < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return failed(dir < 0 ? dir : -errno, entry->path, e);
		if ((st.st_mode & 07777) == mode_here(a->r, entry))
			continue;
		result = place_set_mode(dir, name, mode_here(a->r, entry));
		if (result < 0)
			return failed(result, entry->path, e);
	}
	return result;
}

/* Remove what the manifest does not have, in `path` and below. */
static int mirror(struct applying *a, const char *path, struct err *e)
{
	auto_close int fd =
		open_below(a->r->opts->tree_fd, *path ? path : ".", O_RDONLY | O_DIRECTORY, 0);
	DIR *all = fd < 0 ? NULL : fdopendir(fd);
	char below[MANIFEST_PATH_MAX + 1];
	struct dirent *d;
	int result = 0;

	if (!all)
		return err_sys(e, "%.200s", path);
	int dir = take_fd(&fd); /* closed with `all` */
	while (result == 0 && (d = readdir(all))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		int n = snprintf(below, sizeof(below), "%s%s%s", path, *path ? "/" : "", d->d_name);
		const struct manifest_entry *entry =
			n < (int)sizeof(below) ? manifest_find(&a->r->tree, below) : NULL;
		if (!entry) {
			result = place_remove(dir, d->d_name);
			a->r->stats->files_gone++;
			if (result < 0)
				(void)failed(result, below, e);
		} else if (entry->kind == MANIFEST_DIR) {
			result = mirror(a, below, e);
		}
	}
	closedir(all);
	return result;
}

static uint64_t bytes_of(int dir, const char *name)
{
	struct stat st;

	return dir >= 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)
		       ? (uint64_t)st.st_blocks * 512
		       : 0;
}

/* Where all files are copied, because the tree is on another file system than what arrived: there
 * must be room for each, as those before it have left it. Before anything is touched. */
static int check_room(struct applying *a, struct err *e)
{
	struct receiver *r = a->r;
	struct stat here, there;
	struct statfs fs;

	if (!r->opts->on_host)
		return 0;
	if (fstat(r->partial, &here) < 0 || fstat(r->opts->tree_fd, &there) < 0 ||
	    fstatfs(r->opts->tree_fd, &fs) < 0)
		return err_sys(e, "look for room");
	uint64_t room = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
	for (size_t i = 0; here.st_dev != there.st_dev && i < r->tree.n; i++) {
		const struct manifest_entry *entry = &r->tree.entries[i];
		char from[PARTIAL_NAME_SIZE];
		const char *name = NULL;

		if (entry->kind != MANIFEST_FILE || r->todo[i] != TODO_MAKE)
			continue;
		partial_name(r, i, from);
		uint64_t bytes = bytes_of(r->partial, from);
		if (bytes > room) {
			errno = ENOSPC;
			return err_sys(e, "%.200s", entry->path);
		}
		room -= bytes;
		int dir = place_at(&a->place, entry->path, &name);
		room += bytes_of(dir, name);
	}
	return 0;
}

int apply(struct receiver *r, struct err *e)
{
	struct applying a = {.r = r};

	place_init(&a.place, r->opts->tree_fd);
	int result = check_room(&a, e);
	if (result == 0)
		result = remove_gone(&a, e);
	place_forget(&a.place);
	if (result == 0)
		result = put_all(&a, e);
	if (result == 0 && r->opts->mirror)
		result = mirror(&a, "", e);
	if (result == 0)
		result = dress_dirs(&a, e);
	place_done(&a.place);
	return result;
}
