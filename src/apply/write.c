/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First what goes, from the leaves up; then directories and, beside where they will be, files are
 * made and brought to disk; then they get their names. Something that takes the place of something
 * is exchanged for it, and what came out is looked at. So there is no moment at which a change of
 * somebody else's could be lost, nor one at which a name stands for half a file.
 */
#include "apply/write.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "apply/beneath.h"
#include "apply/file.h"
#include "apply/write_int.h"
#include "base/fd.h"

#define SYNC_SINGLE_MAX 8u
#define MAKE_FLAGS (O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)

static int conflict(const struct apply_item *item, const char *what, struct err *e)
{
	return err_set(e, ERR_CONFLICT, "%s %s", item->path, what);
}

/* Where it can be executed now, by everybody who may read it. */
static mode_t change_exec(mode_t mode, bool exec)
{
	return exec ? mode | ((mode & 0444) >> 2) : mode & ~(mode_t)0111;
}

/* As somebody who opens the file and writes to it: mode, owner and attributes stay. */
static int take_over(const struct apply_item *item, const struct apply_at *at, int to,
		     struct err *e)
{
	struct stat st;
	auto_close int from = FD_NONE;
	int r = file_open(at->dir, at->name, &from, &st, e);

	if (r < 0)
		return r;
	file_copy_attrs(from, to);
	if (item->new_exec != ((st.st_mode & 0100) != 0))
		st.st_mode = change_exec(st.st_mode, item->new_exec);
	/* A set-id bit was given to the program that was there, not to this one. */
	st.st_mode &= 01777;
	st.st_mtim.tv_nsec = UTIME_NOW;
	return file_set_meta(to, &st, e);
}

static int make_file(const struct apply_item *item, const struct apply_set *set,
		     const struct apply_at *at, bool exact, struct err *e)
{
	bool new = at->staged[0] == 'n';
	char hash[HASH_TEXT_SIZE];
	auto_close int from = FD_NONE;
	struct stat st;
	int r = file_open(set->stage, at->staged, &from, &st, e);

	if (r < 0)
		return r;
	/* Nobody reads more of it meanwhile than of what it takes the place of. */
	mode_t mode = exact || item->old == APPLY_FILE ? 0600 : (item->mode & 0777) | 0600;
	auto_close int to = openat(at->dir, at->part, MAKE_FLAGS, mode);
	if (to < 0)
		return err_sys(e, "make");
	r = file_copy(from, to, hash, e);
	if (r >= 0 && strcmp(hash, new ? item->new_hash : item->old_hash) != 0)
		r = err_set(e, ERR_INTERNAL, "what was staged has changed");
	if (r >= 0 && exact) {
		file_copy_attrs(from, to);
		r = file_set_meta(to, &st, e);
	} else if (r >= 0 && item->old == APPLY_FILE) {
		r = take_over(item, at, to, e);
	}
	return r;
}

int apply_make(const struct apply_item *item, const struct apply_set *set,
	       const struct apply_at *at, bool exact, struct err *e)
{
	enum apply_type type = at->staged[0] == 'n' ? item->new : item->old;
	char hash[HASH_TEXT_SIZE];
	int r = 0;

	(void)unlinkat(at->dir, at->part, 0); /* of a try before */
	if (type == APPLY_FILE)
		r = make_file(item, set, at, exact, e);
	else
		r = file_copy_link(set->stage, at->staged, at->dir, at->part, hash, e);
	return r < 0 ? err_wrap(e, "%s", item->path) : 0;
}

int apply_make_dir(const struct apply_set *set, const struct apply_at *at, struct err *e)
{
	struct stat st;

	if (fstatat(set->stage, at->staged, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    mkdirat(at->dir, at->name, 0700) < 0)
		return err_sys(e, "make %s", at->name);
	auto_close int dir =
		openat(at->dir, at->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return dir < 0 ? err_sys(e, "make %s", at->name) : file_set_meta(dir, &st, e);
}

/* What was moved aside: only its time of change is another now. */
static bool was_seen(const struct apply_item *item, const struct apply_at *at, const char *name)
{
	struct stat now;

	return fstatat(at->dir, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	       now.st_ino == item->seen.st_ino && now.st_size == item->seen.st_size &&
	       now.st_mode == item->seen.st_mode &&
	       now.st_mtim.tv_sec == item->seen.st_mtim.tv_sec &&
	       now.st_mtim.tv_nsec == item->seen.st_mtim.tv_nsec;
}

/* Filesystems that cannot do it in one go: as close together as can be. */
static int plain(const struct apply_item *item, const struct apply_at *at, bool remove,
		 struct err *e)
{
	bool fits = item->old == APPLY_NONE
			    ? faccessat(at->dir, at->name, F_OK, AT_SYMLINK_NOFOLLOW) < 0
			    : was_seen(item, at, at->name);

	if (!fits)
		return conflict(item, "changed in the directory meanwhile", e);
	if (remove ? unlinkat(at->dir, at->name, 0) < 0
		   : renameat(at->dir, at->part, at->dir, at->name) < 0)
		return err_sys(e, "%s", item->path);
	return 0;
}

static int move(const struct apply_at *at, const char *from, const char *to, unsigned flags)
{
	return renameat2(at->dir, from, at->dir, to, flags) < 0 ? -errno : 0;
}

static int put_new(const struct apply_item *item, const struct apply_at *at, struct err *e)
{
	int r = move(at, at->part, at->name, RENAME_NOREPLACE);

	if (r == -EEXIST)
		return conflict(item, "came into the directory meanwhile", e);
	if (r == -EINVAL || r == -ENOSYS)
		return plain(item, at, false, e);
	errno = -r;
	return r < 0 ? err_sys(e, "%s", item->path) : 0;
}

static int put_over(const struct apply_item *item, const struct apply_at *at, struct err *e)
{
	/* Whoever finds it there knows that it is whole, or not ours. */
	int r = move(at, at->part, at->aside, 0);

	if (r >= 0)
		r = move(at, at->aside, at->name, RENAME_EXCHANGE);
	if (r == -EINVAL || r == -ENOSYS) {
		(void)move(at, at->aside, at->part, 0);
		return plain(item, at, false, e);
	}
	if (r == -ENOENT)
		return conflict(item, "is gone from the directory", e);
	errno = -r;
	if (r < 0)
		return err_sys(e, "%s", item->path);
	if (was_seen(item, at, at->aside))
		return unlinkat(at->dir, at->aside, 0) < 0 ? err_sys(e, "%s", item->path) : 0;
	(void)move(at, at->aside, at->name, RENAME_EXCHANGE); /* theirs again, whatever it is */
	return conflict(item, "changed in the directory meanwhile", e);
}

/* A directory, or the part that will become a file. */
static int make(const struct apply_set *set, size_t i, struct err *e)
{
	const struct apply_item *item = &set->items[i];
	struct apply_at at = {.dir = FD_NONE};
	int r = apply_find(set, i, true, &at, e);

	if (r < 0)
		return r;
	if (item->new != APPLY_DIR)
		r = apply_make(item, set, &at, set->exact, e);
	else if (set->exact)
		r = apply_make_dir(set, &at, e);
	else if (mkdirat(at.dir, at.name, (item->mode & 0777) | 0700) < 0)
		r = errno == EEXIST ? conflict(item, "came into the directory meanwhile", e)
				    : err_sys(e, "make %s", item->path);
	fd_close(&at.dir);
	return r;
}

static int put(const struct apply_set *set, size_t i, struct err *e)
{
	const struct apply_item *item = &set->items[i];
	struct apply_at at = {.dir = FD_NONE};
	int r = apply_find(set, i, true, &at, e);

	if (r < 0)
		return r;
	r = item->old == APPLY_NONE || apply_is_swap(item) ? put_new(item, &at, e)
							   : put_over(item, &at, e);
	fd_close(&at.dir);
	return r;
}

static int take_file(const struct apply_item *item, const struct apply_at *at, struct err *e)
{
	int r = move(at, at->name, at->aside, RENAME_NOREPLACE);

	if (r == -EINVAL || r == -ENOSYS)
		return plain(item, at, true, e);
	if (r == -ENOENT)
		return conflict(item, "is gone from the directory", e);
	errno = -r;
	if (r < 0)
		return err_sys(e, "remove %s", item->path);
	if (was_seen(item, at, at->aside))
		return unlinkat(at->dir, at->aside, 0) < 0 ? err_sys(e, "remove %s", item->path)
							   : 0;
	(void)move(at, at->aside, at->name, RENAME_NOREPLACE); /* or a newer one is there already */
	return conflict(item, "changed in the directory meanwhile", e);
}

static int take(const struct apply_set *set, size_t i, struct err *e)
{
	const struct apply_item *item = &set->items[i];
	struct apply_at at = {.dir = FD_NONE};
	int r = apply_find(set, i, true, &at, e);

	if (r < 0)
		return r;
	if (item->old != APPLY_DIR)
		r = take_file(item, &at, e);
	else if (unlinkat(at.dir, at.name, AT_REMOVEDIR) < 0)
		r = errno != ENOTEMPTY && errno != EEXIST ? err_sys(e, "remove %s", item->path)
		    : set->keep_full
			    ? 0
			    : conflict(item, "has something in it that the workspace did not see",
				       e);
	fd_close(&at.dir);
	return r;
}

static bool comes(const struct apply_item *item)
{
	return item->new != APPLY_NONE && !(item->new == APPLY_DIR && item->old == APPLY_DIR);
}

int apply_write(struct apply_set *set, struct err *e)
{
	int r = 0;

	for (size_t i = set->n; r >= 0 && i-- > 0;)
		if (set->items[i].new == APPLY_NONE || apply_is_swap(&set->items[i]))
			r = take(set, i, e);
	for (size_t i = 0; r >= 0 && i < set->n; i++)
		if (comes(&set->items[i]))
			r = make(set, i, e);
	if (r >= 0)
		r = apply_sync(set, e);
	for (size_t i = 0; r >= 0 && i < set->n; i++)
		if (comes(&set->items[i]) && set->items[i].new != APPLY_DIR)
			r = put(set, i, e);
	return r < 0 ? r : apply_sync(set, e);
}

/* The part of one item, if it has one, and the names beside it. */
static int sync_one(const struct apply_set *set, size_t i, struct err *e)
{
	struct apply_at at = {.dir = FD_NONE};
	auto_close int part = FD_NONE;
	struct err gone = ERR_INIT;
	struct stat st;

	if (apply_find(set, i, true, &at, &gone) < 0)
		return 0;
	int r = fsync(at.dir) < 0 ? err_sys(e, "write to disk") : 0;
	if (r >= 0 && file_open(at.dir, at.part, &part, &st, &gone) >= 0 && fsync(part) < 0)
		r = err_sys(e, "write to disk");
	fd_close(&at.dir);
	return r;
}

int apply_sync(const struct apply_set *set, struct err *e)
{
	int r = 0;

	/* A disk that is asked for every file takes its time for each; asked for all that it has,
	 * it may have much of others. */
	if (set->n > SYNC_SINGLE_MAX)
		return syncfs(set->dir) < 0 ? err_sys(e, "write to disk") : 0;
	for (size_t i = 0; r >= 0 && i < set->n; i++)
		r = sync_one(set, i, e);
	return r;
}
