/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "apply/beneath.h"
#include "apply/file.h"
#include "apply/write_int.h"
#include "base/fd.h"

int apply_find(const struct apply_set *set, size_t i, bool new, struct apply_at *ret, struct err *e)
{
	(void)snprintf(ret->aside, sizeof(ret->aside), ".pinfold-%lld-%zu", (long long)set->id, i);
	(void)snprintf(ret->part, sizeof(ret->part), "%s.part", ret->aside);
	(void)snprintf(ret->staged, sizeof(ret->staged), "%c%zu", new ? 'n' : 'o', i);
	return beneath_parent(set->dir, set->items[i].path, &ret->dir, &ret->name, e);
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static int changed(const struct apply_item *item, struct err *e)
{
	return err_set(e, ERR_CONFLICT, "%s changed in the directory meanwhile", item->path);
}

static bool is_seen(const struct apply_item *item, const struct stat *now)
{
	return now->st_ino == item->seen.st_ino && now->st_mode == item->seen.st_mode &&
	       now->st_size == item->seen.st_size && same_time(&now->st_ctim, &item->seen.st_ctim);
}

static int save_file(struct apply_set *set, struct apply_item *item, const struct apply_at *at,
		     struct err *e)
{
	char hash[HASH_TEXT_SIZE];
	auto_close int from = FD_NONE;
	struct stat st;
	int r = file_open(at->dir, at->name, &from, &st, e);

	if (r >= 0 && !is_seen(item, &st))
		r = changed(item, e);
	if (r < 0)
		return r;
	auto_close int to = openat(set->stage, at->staged,
				   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return err_sys(e, "save %s", item->path);
	r = file_copy(from, to, hash, e);
	if (r < 0)
		return err_wrap(e, "save %s", item->path);
	if (fstat(from, &st) < 0)
		return err_sys(e, "save %s", item->path);
	if (!is_seen(item, &st) || (item->old_hash[0] && strcmp(hash, item->old_hash) != 0))
		return changed(item, e);
	memcpy(item->old_hash, hash, sizeof(hash));
	item->old_exec = (st.st_mode & 0100) != 0;
	file_copy_attrs(from, to);
	return file_set_meta(to, &st, e);
}

static int save_dir(struct apply_set *set, const struct apply_item *item, const struct apply_at *at,
		    struct err *e)
{
	if (mkdirat(set->stage, at->staged, 0700) < 0)
		return err_sys(e, "save %s", item->path);
	auto_close int to = openat(set->stage, at->staged, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return to < 0 ? err_sys(e, "save %s", item->path) : file_set_meta(to, &item->seen, e);
}

static int save(struct apply_set *set, size_t i, struct err *e)
{
	struct apply_item *item = &set->items[i];
	struct apply_at at = {.dir = FD_NONE};
	char hash[HASH_TEXT_SIZE];

	if (item->old == APPLY_NONE)
		return 0;
	int r = apply_find(set, i, false, &at, e);
	if (r >= 0 && item->old == APPLY_FILE)
		r = save_file(set, item, &at, e);
	if (r >= 0 && item->old == APPLY_DIR)
		r = save_dir(set, item, &at, e);
	if (r >= 0 && item->old == APPLY_LINK) {
		r = file_copy_link(at.dir, at.name, set->stage, at.staged, hash, e);
		if (r >= 0 && item->old_hash[0] && strcmp(hash, item->old_hash) != 0)
			r = changed(item, e);
		if (r >= 0)
			memcpy(item->old_hash, hash, sizeof(hash));
	}
	fd_close(&at.dir);
	return r;
}

int apply_save(struct apply_set *set, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < set->n; i++)
		r = save(set, i, e);
	return r;
}
