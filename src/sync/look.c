/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in the tree against what is to be there. A file that the index still knows is not read;
 * one of the right size that it does not know is. Where large files differ, their chunks are looked
 * at, so that only new ones are sent.
 */
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "sync/chunk.h"
#include "sync/digest.h"
#include "sync/receive_int.h"

#define AHEAD_MAX 200000

struct looking {
	struct receiver *r;
	struct place place;
	size_t old_at;
	size_t fresh_cap;
};

static int conflict(const char *path, const char *why, struct err *e)
{
	return err_set(e, ERR_CONFLICT, "%.200s %s", path, why);
}

/* The number of the old entry with that path, or old.tree.n. Paths must come in order. */
static size_t old_number(struct looking *l, const char *path)
{
	const struct manifest *old = &l->r->old.tree;

	while (l->old_at < old->n) {
		int order = manifest_path_cmp(old->entries[l->old_at].path, path);

		if (order == 0)
			return l->old_at;
		if (order > 0)
			break;
		l->old_at++;
	}
	return old->n;
}

/* Content of a file that nobody knew, kept for its chunks. */
static int keep_fresh(struct looking *l, const struct manifest_entry *entry, struct digest *d,
		      struct err *e)
{
	struct receiver *r = l->r;

	if (r->n_fresh == l->fresh_cap) {
		size_t cap = l->fresh_cap ? l->fresh_cap * 2 : 16;
		struct manifest_entry *grown = reallocarray(r->fresh, cap, sizeof(*grown));

		if (!grown)
			return err_sys(e, "look");
		r->fresh = grown;
		l->fresh_cap = cap;
	}
	struct manifest_entry *f = &r->fresh[r->n_fresh++];
	*f = (struct manifest_entry){
		.path = entry->path, /* the new or the old tree's */
		.kind = MANIFEST_FILE,
		.size = d->size,
		.chunks = d->chunks,
		.n_chunks = d->n_chunks,
	};
	memcpy(f->hash, d->hash, HASH_BYTES);
	d->chunks = NULL;
	return 0;
}

/* 1: *ret is what is in the file; 0: it is not to be had. */
static int read_file(struct looking *l, const struct stat *st, const struct manifest_entry *entry,
		     uint8_t ret[HASH_BYTES], struct err *e)
{
	auto_close int fd = open_below(l->r->opts->tree_fd, entry->path, O_RDONLY, 0);
	auto_digest struct digest d = {0};
	struct err ignored = ERR_INIT;
	struct stat now;

	if (fd < 0 || fstat(fd, &now) < 0 || now.st_ino != st->st_ino || !S_ISREG(now.st_mode) ||
	    digest_fd(fd, l->r->buffer, &d, &ignored) < 0)
		return 0; /* then it is made anew */
	memcpy(ret, d.hash, HASH_BYTES);
	l->r->stats->files_read++;
	int r = keep_fresh(l, entry, &d, e);
	return r < 0 ? r : 1;
}

static bool is_dressed(const struct receiver *r, const struct manifest_entry *entry,
		       const struct stat *st)
{
	return (st->st_mode & 07777) == mode_here(r, entry) &&
	       st->st_mtim.tv_sec == entry->mtime_s && st->st_mtim.tv_nsec == entry->mtime_ns;
}

static const struct manifest_entry *begun(const struct receiver *r, const char *path)
{
	return r->next.tree.n ? manifest_find(&r->next.tree, path) : NULL;
}

static bool is_file_of(const struct manifest_entry *entry, const uint8_t hash[HASH_BYTES])
{
	return entry && entry->kind == MANIFEST_FILE && memcmp(hash, entry->hash, HASH_BYTES) == 0;
}

/* What the tree has under the file's name is a regular file. */
static int look_at_file(struct looking *l, size_t i, const struct stat *st, struct err *e)
{
	struct receiver *r = l->r;
	const struct manifest_entry *entry = &r->tree.entries[i];
	size_t old = old_number(l, entry->path);
	const struct manifest_entry *was = old < r->old.tree.n ? &r->old.tree.entries[old] : NULL;
	bool size_fits = (uint64_t)st->st_size == entry->size;
	uint8_t hash[HASH_BYTES];
	int known = 0;

	if (was && index_holds(&r->old, old, st, r->opts->any_dev)) {
		memcpy(hash, was->hash, HASH_BYTES);
		known = 1;
	} else if (size_fits || r->opts->keep_changed ||
		   (entry->n_chunks && st->st_size > (off_t)CHUNK_WHOLE_MAX)) {
		known = read_file(l, st, entry, hash, e);
	}
	if (known < 0)
		return known;
	if (known && size_fits && memcmp(hash, entry->hash, HASH_BYTES) == 0) {
		r->todo[i] = is_dressed(l->r, entry, st) ? TODO_NOTHING : TODO_DRESS;
		r->stats_now[i] = index_stat_of(st);
		/* It may change once more within this tick of the clock, unseen. */
		if (st->st_ctim.tv_sec > r->start.tv_sec ||
		    (st->st_ctim.tv_sec == r->start.tv_sec &&
		     st->st_ctim.tv_nsec >= r->start.tv_nsec))
			r->stats_now[i] = (struct index_stat){0};
		return 0;
	}
	if (r->opts->keep_changed &&
	    !(known && (is_file_of(was, hash) || is_file_of(begun(r, entry->path), hash))))
		return conflict(entry->path, "has changed here since the last time", e);
	return 0;
}

static bool is_link_to(struct place *place, const struct manifest_entry *entry)
{
	char now[MANIFEST_PATH_MAX + 2];
	const char *name = NULL;
	int dir = place_at(place, entry->path, &name);
	ssize_t n = dir < 0 ? -1 : readlinkat(dir, name, now, sizeof(now));

	return n >= 0 && (size_t)n == strlen(entry->target) &&
	       memcmp(now, entry->target, (size_t)n) == 0;
}

/* A directory is where something else is to be: everything in it must be the sender's own. */
static int check_ours(struct receiver *r, const char *path, struct err *e)
{
	auto_close int fd = open_below(r->opts->tree_fd, path, O_RDONLY | O_DIRECTORY, 0);
	DIR *all = fd < 0 ? NULL : fdopendir(fd);
	char below[MANIFEST_PATH_MAX + 1];
	struct dirent *d;
	int result = 0;

	if (!all)
		return err_sys(e, "%.200s", path);
	(void)take_fd(&fd); /* closed with `all` */
	while (result == 0 && (d = readdir(all))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		int n = snprintf(below, sizeof(below), "%s/%s", path, d->d_name);
		const struct manifest_entry *was =
			n < (int)sizeof(below) ? manifest_find(&r->old.tree, below) : NULL;
		if (!was || (was->kind == MANIFEST_DIR) != (d->d_type == DT_DIR))
			result = conflict(path, "is a directory here, with files of its own", e);
		else if (was->kind == MANIFEST_DIR) /* as deep as a manifest can be */
			result = check_ours(r, below, e);
	}
	closedir(all);
	return result;
}

static bool stat_at(struct place *place, const char *path, struct stat *ret)
{
	const char *name = NULL;
	int dir = place_at(place, path, &name);

	return dir >= 0 && fstatat(dir, name, ret, AT_SYMLINK_NOFOLLOW) == 0;
}

void look_ahead(struct receiver *r)
{
	struct place place;

	place_init(&place, r->opts->tree_fd);
	r->start = index_now();
	if (r->old.tree.n <= AHEAD_MAX)
		r->ahead = calloc(r->old.tree.n + 1, sizeof(r->ahead[0]));
	for (size_t i = 0; r->ahead && i < r->old.tree.n; i++)
		if (!stat_at(&place, r->old.tree.entries[i].path, &r->ahead[i]))
			r->ahead[i].st_mode = 0;
	place_done(&place);
}

static bool stat_entry(struct looking *l, const char *path, struct stat *ret)
{
	size_t old = l->r->ahead ? old_number(l, path) : l->r->old.tree.n;

	if (old == l->r->old.tree.n)
		return stat_at(&l->place, path, ret);
	*ret = l->r->ahead[old];
	return ret->st_mode != 0;
}

/* Is this, which is no directory, what a session left there: `was` of the last one, or what one
 * that was cut off had begun? 1, 0, or < 0. */
static int is_as_left(struct looking *l, const char *path, const struct manifest_entry *was,
		      const struct stat *st, struct err *e)
{
	struct receiver *r = l->r;
	const struct manifest_entry *next = begun(r, path), *any = was ? was : next;
	uint8_t hash[HASH_BYTES];

	if (S_ISLNK(st->st_mode))
		return (was && was->kind == MANIFEST_LINK && is_link_to(&l->place, was)) ||
		       (next && next->kind == MANIFEST_LINK && is_link_to(&l->place, next));
	if (!any || !S_ISREG(st->st_mode))
		return 0;
	if (was && index_holds(&r->old, (size_t)(was - r->old.tree.entries), st, r->opts->any_dev))
		return 1;
	int known = read_file(l, st, any, hash, e);
	return known <= 0 ? known : is_file_of(was, hash) || is_file_of(next, hash);
}

/* Something else is where the entry is to be: it must be as it came, where that is asked for. */
static int check_other(struct looking *l, const struct manifest_entry *entry, const struct stat *st,
		       struct err *e)
{
	if (!l->r->opts->keep_changed || S_ISDIR(st->st_mode))
		return 0;
	size_t old = old_number(l, entry->path);
	const struct manifest_entry *was =
		old < l->r->old.tree.n ? &l->r->old.tree.entries[old] : NULL;
	int same = is_as_left(l, entry->path, was, st, e);
	return same < 0	  ? same
	       : same > 0 ? 0
			  : conflict(entry->path, "has changed here since the last time", e);
}

static int look_at(struct looking *l, size_t i, struct err *e)
{
	struct receiver *r = l->r;
	const struct manifest_entry *entry = &r->tree.entries[i];
	struct stat st;

	r->todo[i] = TODO_MAKE;
	if (!stat_entry(l, entry->path, &st))
		return 0; /* what is in the way is met when it is made */
	if (S_ISDIR(st.st_mode) && entry->kind != MANIFEST_DIR && !r->opts->mirror)
		return check_ours(r, entry->path, e);
	if (entry->kind == MANIFEST_FILE && S_ISREG(st.st_mode))
		return look_at_file(l, i, &st, e);
	if (entry->kind == MANIFEST_DIR && S_ISDIR(st.st_mode))
		r->todo[i] =
			(st.st_mode & 07777) == mode_here(r, entry) ? TODO_NOTHING : TODO_DRESS;
	else if (entry->kind == MANIFEST_LINK && S_ISLNK(st.st_mode) &&
		 is_link_to(&l->place, entry))
		r->todo[i] = TODO_NOTHING;
	else
		return check_other(l, entry, &st, e);
	return 0;
}

/* A file or link that is to be removed must be as it came, where that is asked for. */
static int check_gone(struct looking *l, size_t old, struct err *e)
{
	struct receiver *r = l->r;
	const struct manifest_entry *was = &r->old.tree.entries[old];
	struct stat st;

	if (was->kind == MANIFEST_DIR || manifest_find(&r->tree, was->path) ||
	    !stat_at(&l->place, was->path, &st) || S_ISDIR(st.st_mode))
		return 0;
	int same = is_as_left(l, was->path, was, &st, e);
	return same < 0	  ? same
	       : same > 0 ? 0
			  : conflict(was->path,
				     "is gone there, and has changed here since the last time", e);
}

int look(struct receiver *r, struct err *e)
{
	struct looking l = {.r = r};
	int result = 0;

	place_init(&l.place, r->opts->tree_fd);
	for (size_t i = 0; i < r->tree.n && result == 0; i++)
		result = look_at(&l, i, e);
	for (size_t i = 0; r->opts->keep_changed && i < r->old.tree.n && result == 0; i++)
		result = check_gone(&l, i, e);
	place_done(&l.place);
	return result;
}

/* Which chunks are needed, and whose own file each becomes. */
static void mark_needs(struct receiver *r)
{
	for (size_t i = 0; i < r->chunks.n; i++)
		r->needs[i] = (struct need){.owner = CHUNKS_NONE, .home = CHUNKS_NONE};
	for (size_t i = 0; i < r->tree.n; i++) {
		const struct manifest_entry *entry = &r->tree.entries[i];
		uint32_t n = chunks_count(entry);
		uint64_t offset = 0;

		if (r->todo[i] != TODO_MAKE)
			continue;
		for (uint32_t j = 0; j < n; j++) {
			uint32_t chunk = chunks_find(&r->chunks, chunks_at(entry, j).hash);

			r->stats->chunks_need += r->needs[chunk].source == SOURCE_UNUSED;
			r->needs[chunk].source = SOURCE_NONE;
			if (n == 1) {
				r->needs[chunk].owner = (uint32_t)i;
			} else if (r->needs[chunk].home == CHUNKS_NONE) {
				r->needs[chunk].home = (uint32_t)i;
				r->needs[chunk].home_at = offset;
			}
			offset += r->chunks.refs[chunk].len;
		}
	}
}

static int list_places(struct receiver *r, struct err *e)
{
	int result = 0;

	/* What was read just now goes first: it is there. */
	for (size_t i = 0; i < r->n_fresh && result == 0; i++)
		result = chunks_add_entry(&r->places, &r->fresh[i], (uint32_t)(r->old.tree.n + i),
					  e);
	for (size_t i = 0; i < r->old.tree.n && result == 0; i++)
		result = chunks_add_entry(&r->places, &r->old.tree.entries[i], (uint32_t)i, e);
	return result;
}

/* The chunk is in the buffer if one of them has it. */
static int find_one(struct receiver *r, uint32_t chunk, struct err *e)
{
	struct need *need = &r->needs[chunk];

	need->place = chunks_find(&r->places, r->chunks.refs[chunk].hash);
	if (need->place != CHUNKS_NONE) {
		need->source = SOURCE_TREE;
		if (chunk_read(r, chunk, r->buffer) != 0)
			need->source = SOURCE_NONE;
	}
	if (need->source == SOURCE_NONE && r->opts->lookup) {
		need->source = SOURCE_LOOKUP;
		if (chunk_read(r, chunk, r->buffer) != 0)
			need->source = SOURCE_NONE;
	}
	if (need->source == SOURCE_NONE)
		return 0;
	r->stats->chunks_found++;
	return partial_put(r, chunk, r->buffer, e);
}

/* Refused before anything has come. */
static int check_room(const struct receiver *r, struct err *e)
{
	uint64_t bytes_max = r->opts->write_bytes_max, files_max = r->opts->write_files_max;
	uint64_t bytes = 0, files = 0;

	for (size_t i = 0; i < r->tree.n; i++) {
		if (r->todo[i] != TODO_MAKE)
			continue;
		files++;
		if (r->tree.entries[i].kind == MANIFEST_FILE)
			bytes +=
				r->tree.entries[i].size; /* with a limit on the whole: no overflow */
	}
	bool large = bytes_max && bytes > bytes_max;
	if (!large && (!files_max || files <= files_max))
		return 0;
	(void)err_set(e, ERR_LIMIT, "%llu %s, and there is room for %llu",
		      (unsigned long long)(large ? bytes : files),
		      large ? "bytes of files" : "files and directories",
		      (unsigned long long)(large ? bytes_max : files_max));
	return err_detail(e, "disk");
}

int look_find(struct receiver *r, struct err *e)
{
	mark_needs(r);
	int result = check_room(r, e);
	if (result == 0)
		result = partial_take_stock(r, e);
	if (result == 0 && r->stats->chunks_need > r->stats->chunks_found)
		result = list_places(r, e);
	for (size_t i = 0; i < r->chunks.n && result == 0; i++)
		if (r->needs[i].source == SOURCE_NONE)
			result = find_one(r, (uint32_t)i, e);
	return result;
}
