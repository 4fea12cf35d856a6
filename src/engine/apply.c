/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of a workspace become changes of its directory.
 *
 *	judge (review.c) --> choose --> stage --> merge (three.c) --> save --> write --> remember
 *
 * Up to `write` nothing of the directory was touched; from there on the rows of store/apply.h say
 * what there is to take back.
 */
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "apply/write.h"
#include "base/fd.h"
#include "engine/apply.h"
#include "engine/reader.h"
#include "engine/run_int.h"
#include "store/apply.h"
#include "tree/stream.h"

static bool has_bytes(const struct apply_item *item)
{
	return item->new == APPLY_FILE || item->new == APPLY_LINK;
}

/* The paths of what has to be fetched, each with its NUL. */
static char *list_paths(const struct apply_set *set, size_t *ret_len)
{
	size_t len = 0, n = 0;

	for (size_t i = 0; i < set->n; i++)
		len += has_bytes(&set->items[i]) ? strlen(set->items[i].path) + 1 : 0;
	char *paths = malloc(len + 1);
	for (size_t i = 0; paths && i < set->n; i++) {
		size_t one = strlen(set->items[i].path) + 1;

		if (!has_bytes(&set->items[i]))
			continue;
		memcpy(paths + n, set->items[i].path, one);
		n += one;
	}
	*ret_len = len;
	return paths;
}

int apply_ask(struct host_dir *d, const char *paths, size_t len, struct reader *ret, struct err *e)
{
	static const struct stack none = {.n = 0};
	static const char *const argv[] = {"fetch", "/v/new.work", NULL};
	struct reader_ask ask = {
		.argv = argv,
		.peek = PEEK_LOOK,
		.before = &none,
		.now = &d->head.stack,
		.dir = d->w.dir,
		.said = d->w.said,
		.fed = true,
	};
	sigset_t before;

	if (reader_look(d->store, &ask, ret, e) < 0)
		return -1;
	reader_hush(&before);
	int r = fd_write_all(ret->in, paths, len);
	reader_unhush(&before);
	fd_close(&ret->in);
	/* Why it stopped reading comes over the other pipe. */
	errno = -r;
	return r < 0 && r != -EPIPE ? err_sys(e, "fetch changes") : 0;
}

static int stage_bytes(struct tree_dec *dec, int fd, uint64_t size, struct err *e)
{
	const void *data;
	uint64_t at;
	size_t len;
	int r;

	while ((r = tree_dec_data(dec, &at, &data, &len, e)) > 0)
		if (fd_pwrite_all(fd, data, len, at) < 0)
			return err_sys(e, "write");
	if (r >= 0 && ftruncate(fd, (off_t)size) < 0)
		return err_sys(e, "write");
	return r;
}

static void hash_target(const char *target, size_t len, char ret[HASH_TEXT_SIZE])
{
	uint8_t digest[HASH_BYTES];
	struct hash h;

	hash_init(&h);
	hash_add(&h, target, len);
	hash_done(&h, digest);
	hash_text(digest, ret);
}

static int stage_one(struct tree_dec *dec, const struct tree_entry *en, struct apply_set *set,
		     size_t i, struct err *e)
{
	struct apply_item *item = &set->items[i];
	char name[32], hash[HASH_TEXT_SIZE] = "";
	int r = 0;

	(void)snprintf(name, sizeof(name), "n%zu", i);
	if (en->kind == TREE_SYMLINK && item->new == APPLY_LINK) {
		if (symlinkat(en->target, set->stage, name) < 0)
			return err_sys(e, "stage %s", item->path);
		hash_target(en->target, en->target_len, hash);
	} else if (en->kind == TREE_FILE && item->new == APPLY_FILE) {
		auto_close int fd =
			openat(set->stage, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

		r = fd < 0 ? err_sys(e, "stage %s", item->path) : stage_bytes(dec, fd, en->size, e);
		if (r >= 0 && hash_fd(fd, UINT64_MAX, hash) < 0)
			r = err_sys(e, "stage %s", item->path);
	}
	if (r >= 0 && (!hash[0] || (item->new_hash[0] && strcmp(hash, item->new_hash) != 0)))
		r = err_set(e, ERR_INTERNAL, "%s: what came is not what was announced", item->path);
	if (r >= 0)
		memcpy(item->new_hash, hash, sizeof(hash));
	return r;
}

/* Records come in the order in which we asked, and every one of them. */
static int stage_all(int fd, struct apply_set *set, uint64_t bytes, struct err *e)
{
	struct tree_limits limits = {.entries = set->n + 1, .bytes = bytes + 1};
	auto_free struct tree_dec *dec = calloc(1, sizeof(*dec));
	struct tree_entry en;
	size_t i = 0;
	int r = dec ? tree_dec_init(dec, fd, &limits, e) : err_sys(e, "fetch changes");

	while (r >= 0 && (r = tree_dec_next(dec, &en, e)) > 0) {
		while (i < set->n && !has_bytes(&set->items[i]))
			i++;
		if (i == set->n || strcmp(set->items[i].path, en.path) != 0) {
			r = err_set(e, ERR_INTERNAL, "other files came than those asked for");
			break;
		}
		r = stage_one(dec, &en, set, i++, e);
	}
	while (r >= 0 && i < set->n && !has_bytes(&set->items[i]))
		i++;
	if (r >= 0 && i < set->n)
		r = err_set(e, ERR_INTERNAL, "%s did not come", set->items[i].path);
	if (dec)
		tree_dec_done(dec);
	return r;
}

static int check_room(int dir, uint64_t bytes, const char *where, struct err *e)
{
	struct statvfs fs;

	if (fstatvfs(dir, &fs) < 0)
		return err_sys(e, "%s", where);
	if (bytes <= (uint64_t)fs.f_bavail * fs.f_frsize)
		return 0;
	(void)err_set(e, ERR_LIMIT, "the changes have %lluM, and there is no room for that in %s",
		      (unsigned long long)(bytes >> 20), where);
	(void)err_detail(e, "disk");
	return err_remedy(e, "make room there, or name some paths only");
}

static int fetch(struct host_dir *d, struct picked *p, struct err *e)
{
	struct reader r = READER_INIT;
	uint64_t bytes = 0;
	size_t len = 0;

	for (size_t i = 0; i < p->set.n; i++)
		bytes += p->set.items[i].new == APPLY_FILE ? p->more[i].size_new : 0;
	auto_free char *paths = list_paths(&p->set, &len);
	int k = paths ? check_room(p->set.stage, bytes, "the data directory", e)
		      : err_sys(e, "fetch changes");
	if (k >= 0)
		k = check_room(d->fd, bytes, "the directory", e);
	if (k < 0 || len == 0)
		return k;
	k = apply_ask(d, paths, len, &r, e);
	if (k >= 0)
		k = stage_all(r.out, &p->set, bytes, e);
	return reader_end(&r, k, e);
}

int apply_staged(struct host_dir *d, struct apply_set *set, int64_t reverts, struct err *e)
{
	struct err second = ERR_INIT;
	int r = apply_save(set, e);

	if (r >= 0)
		r = apply_commit_writing(d->store, set, e);
	if (r >= 0) {
		r = apply_write(set, e);
		if (r >= 0)
			r = apply_commit_done(d->store, &d->w, set, reverts, e);
		/* Where that fails, too, the row stays, and who comes next tries again. */
		if (r < 0 && (apply_back(set, &second) < 0 ||
			      apply_note(d->store, d->w.id, set, false, &second) < 0))
			return err_wrap(e, "%s; and taking it back failed: %s", d->w.dir,
					second.text);
	}
	if (r < 0)
		(void)apply_forget(d->store, set->id, &second); /* the next who looks does */
	return r;
}

static void drop_staged(const struct apply_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		char name[32];

		/* Only what was there is needed again. */
		(void)snprintf(name, sizeof(name), "n%zu", i);
		(void)unlinkat(set->stage, name, 0);
		name[0] = 'v';
		(void)unlinkat(set->stage, name, 0);
	}
}

static bool any_merge(const struct picked *p)
{
	for (size_t i = 0; i < p->set.n; i++)
		if (p->more[i].merges)
			return true;
	return false;
}

/* With `dry` only as far as one has to go to know whether it could be done. */
static int write_changes(struct host_dir *d, struct picked *p, bool dry, pinfold_review_fn *each,
			 void *arg, struct err *e)
{
	struct err second = ERR_INIT;
	int r = 0;

	/* What is known now need not be staged. */
	if (!any_merge(p)) {
		r = picked_refuse(p, each, arg, e);
		if (r < 0 || dry)
			return r;
	}

	p->set.dir = dup(d->fd);
	if (p->set.dir < 0)
		return err_sys(e, "apply");
	r = apply_begin(d->store, &d->w, d->head.seq, 0, &p->set, e);
	if (r < 0)
		return r;
	r = fetch(d, p, e);
	if (r >= 0)
		r = apply_merge(d, p, each, arg, e);
	if (r < 0 || dry) {
		(void)apply_forget(d->store, p->set.id, &second); /* the next who looks does */
		return r;
	}
	apply_keep(d, p);
	r = apply_staged(d, &p->set, 0, e);
	if (r < 0)
		return r;
	drop_staged(&p->set);
	return apply_prune(d->store, d->w.id, false, e);
}

static int apply(struct store *s, const char *name, const char *const *paths, uint32_t flags,
		 pinfold_review_fn *each, void *arg, struct err *e)
{
	struct picked p = {.set = APPLY_SET_INIT};
	struct host_dir *d = NULL;
	int r = host_dir_open(s, name, true, &d, e);

	if (r >= 0)
		r = picked_collect(&p, d, e);
	if (r >= 0)
		r = picked_choose(&p, paths, e);
	if (r >= 0 && p.set.n > 0)
		r = write_changes(d, &p, flags & PINFOLD_APPLY_DRY_RUN, each, arg, e);
	if (r >= 0)
		picked_tell(&p, each, arg);
	picked_done(&p);
	host_dir_close(d);
	return r;
}

int pinfold_workspace_apply(struct pinfold_store *store, const char *name, const char *const *paths,
			    uint32_t flags, pinfold_review_fn *each, void *arg,
			    struct pinfold_error *ret_error)
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
			: op_begin(&op, "workspace.apply", store->store, NULL, &e);
	if (r >= 0)
		r = apply(store->store, meant, paths, flags, each, arg, &e);
	if (!(flags & PINFOLD_APPLY_DRY_RUN))
		r = op_end(&op, r, NULL, &e);
	if (r < 0)
		error_public(&e, ret_error);
	return r < 0 ? -1 : 0;
}
