/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking an apply back is an apply of what was there before: what it staged as the old becomes the
 * new. So it is all or nothing in the same way.
 */
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "apply/beneath.h"
#include "apply/file.h"
#include "apply/write.h"
#include "base/fd.h"
#include "engine/apply.h"
#include "engine/run_int.h"
#include "store/apply.h"

/* One item the other way round; what is there as it was before the apply needs nothing. */
static int turn(struct picked *p, const struct apply_set *done, size_t i, struct err *e)
{
	const struct apply_item *was = &done->items[i];
	struct picked_more *m = NULL;

	if (apply_is(done, was, false))
		return 0;
	struct apply_item *item = picked_add(p, was->path, &m, e);
	if (!item)
		return -ENOMEM;
	item->old = was->new;
	item->new = was->old;
	item->old_exec = was->new_exec;
	item->new_exec = was->old_exec;
	item->old_known = was->new_known;
	item->new_known = was->old_known;
	memcpy(item->old_hash, was->new_hash, sizeof(item->old_hash));
	memcpy(item->new_hash, was->old_hash, sizeof(item->new_hash));
	m->chosen = true;
	if (!apply_is(done, was, true))
		m->conflict = "it changed in the directory since it was applied";
	int r = beneath_look(done->dir, was->path, &item->seen, e);
	m->mode_old = item->seen.st_mode & 07777;
	m->size_old = (uint64_t)item->seen.st_size;
	return r;
}

static int copy_staged(const struct apply_set *from, const char *name, struct apply_set *to,
		       const char *as, struct err *e)
{
	char hash[HASH_TEXT_SIZE];
	struct stat st;

	if (fstatat(from->stage, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "%s", name);
	if (S_ISLNK(st.st_mode))
		return file_copy_link(from->stage, name, to->stage, as, hash, e);
	if (S_ISREG(st.st_mode))
		return linkat(from->stage, name, to->stage, as, 0) < 0 ? err_sys(e, "%s", name) : 0;
	if (mkdirat(to->stage, as, 0700) < 0)
		return err_sys(e, "%s", name);
	auto_close int dir = openat(to->stage, as, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? err_sys(e, "%s", name) : file_set_meta(dir, &st, e);
}

/* What was saved under the number of the item there has another number here. */
static int stage(const struct apply_set *done, struct apply_set *set, struct err *e)
{
	char from[32], to[32];
	size_t k = 0;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < set->n; i++) {
		while (strcmp(done->items[k].path, set->items[i].path) != 0)
			k++;
		(void)snprintf(from, sizeof(from), "o%zu", k);
		(void)snprintf(to, sizeof(to), "n%zu", i);
		if (set->items[i].new != APPLY_NONE)
			r = copy_staged(done, from, set, to, e);
	}
	return r;
}

static int write_back(struct host_dir *d, const struct apply_row *row, const struct apply_set *done,
		      struct picked *p, struct err *e)
{
	struct err second = ERR_INIT;
	int r = 0;

	p->set.dir = dup(d->fd);
	if (p->set.dir < 0)
		return err_sys(e, "revert");
	p->set.exact = true;
	p->set.keep_full = true;
	r = apply_begin(d->store, &d->w, row->seq, row->id, &p->set, e);
	if (r < 0)
		return r;
	r = stage(done, &p->set, e);
	if (r >= 0)
		return apply_staged(d, &p->set, row->id, e);
	(void)apply_forget(d->store, p->set.id, &second); /* the next who looks does */
	return r;
}

static int find_last(struct host_dir *d, struct apply_row *ret, struct err *e)
{
	int r = apply_find_last(d->store, d->w.id, ret, e);

	if (r != 0)
		return r;
	(void)err_set(e, ERR_MISSING, "workspace %s has no apply to take back", d->w.name);
	return err_remedy(e, "pinfold apply %s writes its changes first", d->w.name);
}

static int revert(struct store *s, const char *name, uint32_t flags, pinfold_review_fn *each,
		  void *arg, struct err *e)
{
	struct picked p = {.set = APPLY_SET_INIT};
	struct apply_set done = APPLY_SET_INIT;
	struct host_dir *d = NULL;
	struct apply_row row;
	int r = host_dir_open(s, name, true, &d, e);

	if (r >= 0)
		r = find_last(d, &row, e);
	if (r >= 0 && (done.dir = dup(d->fd)) < 0)
		r = err_sys(e, "revert");
	if (r >= 0)
		r = apply_load(s, &row, &done, e);
	for (size_t i = 0; r >= 0 && i < done.n; i++)
		r = turn(&p, &done, i, e);
	if (r >= 0)
		r = picked_refuse(&p, each, arg, e);
	if (r >= 0 && !(flags & PINFOLD_APPLY_DRY_RUN))
		r = write_back(d, &row, &done, &p, e);
	if (r >= 0)
		picked_tell(&p, each, arg);
	picked_done(&p);
	apply_set_done(&done);
	host_dir_close(d);
	return r;
}

int pinfold_workspace_revert(struct pinfold_store *store, const char *name, uint32_t flags,
			     pinfold_review_fn *each, void *arg, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	char meant[STORE_NAME_MAX + 1];

	assert(store && name && each && ret_error);
	if (host_dir_meant(store->store, name, meant, &e) < 0) {
		error_public(&e, ret_error);
		return -1;
	}
	struct op op = {.workspace = meant};
	int r = flags & PINFOLD_APPLY_DRY_RUN
			? 0
			: op_begin(&op, "workspace.revert", store->store, NULL, &e);
	if (r >= 0)
		r = revert(store->store, meant, flags, each, arg, &e);
	if (!(flags & PINFOLD_APPLY_DRY_RUN))
		r = op_end(&op, r, NULL, &e);
	if (r < 0)
		error_public(&e, ret_error);
	return r < 0 ? -1 : 0;
}
