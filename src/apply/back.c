/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing is known of how far it came: every item is looked at, and what is neither as it was nor
 * as we left it belongs to whoever made it so.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "apply/beneath.h"
#include "apply/file.h"
#include "apply/write_int.h"
#include "base/fd.h"

static bool has_hash(int dir, const char *name, const char *hash, bool exec)
{
	char now[HASH_TEXT_SIZE];
	auto_close int fd = FD_NONE;
	struct err ignored = ERR_INIT;
	struct stat st;

	return file_open(dir, name, &fd, &st, &ignored) >= 0 &&
	       ((st.st_mode & 0100) != 0) == exec && hash_fd(fd, UINT64_MAX, now) >= 0 &&
	       strcmp(now, hash) == 0;
}

static bool is_at(const struct apply_item *item, bool new, int dir, const char *name)
{
	enum apply_type type = new ? item->new : item->old;
	const char *hash = new ? item->new_hash : item->old_hash;
	char now[HASH_TEXT_SIZE];
	struct err ignored = ERR_INIT;
	struct stat st = {0};

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		st.st_mode = 0;
	if (apply_type_of(&st) != type)
		return false;
	if (type == APPLY_FILE)
		return has_hash(dir, name, hash, new ? item->new_exec : item->old_exec);
	return type != APPLY_LINK ||
	       (file_copy_link(dir, name, -1, NULL, now, &ignored) >= 0 && strcmp(now, hash) == 0);
}

bool apply_is(const struct apply_set *set, const struct apply_item *item, bool new)
{
	auto_close int dir = FD_NONE;
	const char *name = NULL;
	struct err ignored = ERR_INIT;

	if (beneath_parent(set->dir, item->path, &dir, &name, &ignored) < 0)
		return (new ? item->new : item->old) == APPLY_NONE;
	return is_at(item, new, dir, name);
}

/*
 * What is aside is whole and new, or what was there. We may have died just when we saw that
 * somebody had changed that one: then it is his, and goes back to its place.
 */
static void settle_aside(const struct apply_item *item, const struct apply_at *at)
{
	struct stat st;

	if (fstatat(at->dir, at->aside, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	bool ours = is_at(item, false, at->dir, at->aside) || is_at(item, true, at->dir, at->aside);
	bool out = item->new == APPLY_NONE || item->new == APPLY_DIR
			   ? fstatat(at->dir, at->name, &st, AT_SYMLINK_NOFOLLOW) < 0
			   : is_at(item, true, at->dir, at->name);
	if (ours || !out || renameat(at->dir, at->aside, at->dir, at->name) < 0)
		(void)unlinkat(at->dir, at->aside, 0); /* the next who looks tries again */
}

/* What came goes, unless it can be exchanged for what was there. */
static int drop_new(const struct apply_set *set, size_t i, struct err *e)
{
	const struct apply_item *item = &set->items[i];
	struct apply_at at = {.dir = FD_NONE};
	struct err gone = ERR_INIT;
	int r = 0;

	if (apply_find(set, i, false, &at, &gone) < 0)
		return 0;
	(void)unlinkat(at.dir, at.part, 0); /* most have none */
	settle_aside(item, &at);
	bool goes = item->new != APPLY_NONE && (item->old == APPLY_NONE || apply_is_swap(item));
	if (goes && is_at(item, true, at.dir, at.name) &&
	    unlinkat(at.dir, at.name, item->new == APPLY_DIR ? AT_REMOVEDIR : 0) < 0 &&
	    errno != ENOTEMPTY && errno != EEXIST)
		r = err_sys(e, "remove %s", item->path);
	fd_close(&at.dir);
	return r;
}

/* What is to be restored is made beside its place, or, a directory, there. */
static int make_old(const struct apply_set *set, size_t i, struct err *e)
{
	const struct apply_item *item = &set->items[i];
	struct apply_at at = {.dir = FD_NONE};
	struct stat st;

	if (item->old == APPLY_NONE)
		return 0;
	int r = apply_find(set, i, false, &at, e);
	if (r < 0)
		return r;
	bool absent = fstatat(at.dir, at.name, &st, AT_SYMLINK_NOFOLLOW) < 0;
	if (absent && item->old == APPLY_DIR)
		r = apply_make_dir(set, &at, e);
	else if (absent || (item->old != APPLY_DIR && is_at(item, true, at.dir, at.name) &&
			    !is_at(item, false, at.dir, at.name)))
		r = apply_make(item, set, &at, true, e);
	fd_close(&at.dir);
	return r;
}

/* And gets its name when all are on disk. */
static int put_old(const struct apply_set *set, size_t i, struct err *e)
{
	struct apply_at at = {.dir = FD_NONE};
	int r = set->items[i].old == APPLY_NONE ? 0 : apply_find(set, i, false, &at, e);

	if (r >= 0 && at.dir >= 0 && renameat(at.dir, at.part, at.dir, at.name) < 0 &&
	    errno != ENOENT)
		r = err_sys(e, "put %s back", set->items[i].path);
	fd_close(&at.dir);
	return r;
}

typedef int back_fn(const struct apply_set *set, size_t i, struct err *e);

/* For every item, whatever went wrong with another; the first failure is told. */
static int each(const struct apply_set *set, back_fn *fn, bool leaves_first, struct err *e)
{
	struct err next = ERR_INIT;
	int result = 0;

	for (size_t i = 0; i < set->n; i++) {
		int r = fn(set, leaves_first ? set->n - 1 - i : i, &next);

		if (r < 0 && result >= 0) {
			*e = next;
			result = r;
		}
	}
	return result;
}

int apply_back(struct apply_set *set, struct err *e)
{
	struct err more = ERR_INIT;
	int r = each(set, drop_new, true, e);
	int k = each(set, make_old, false, r < 0 ? &more : e);

	r = r < 0 ? r : k;
	k = apply_sync(set, r < 0 ? &more : e);
	r = r < 0 ? r : k;
	k = each(set, put_old, false, r < 0 ? &more : e);
	r = r < 0 ? r : k;
	return r < 0 ? r : apply_sync(set, e);
}
