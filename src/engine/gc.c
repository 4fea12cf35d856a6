/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Giving back what nobody needs: history that is older than wanted, then layers that only it
 * needed, then what lies below all that is kept and has something several times. The last is done
 * by merging: of a file that ten forgotten commands wrote, one copy stays.
 */
#include <pinfold/gc.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>

#include "base/fd.h"
#include "engine/record.h"
#include "engine/replay_int.h"
#include "engine/run_int.h"
#include "engine/workspace_int.h"
#include "store/history.h"
#include "store/reserve.h"
#include "store/sizes.h"

static bool is_wanted(const struct workspace *w, const void *arg)
{
	const char *only = arg;

	return !only || strcmp(only, w->name) == 0;
}

static int find_names(struct store *s, const char *only, struct workspace_names *names,
		      struct err *e)
{
	int r = workspace_names(s, is_wanted, only, names, e);

	if (r >= 0 && only && names->n == 0) {
		(void)err_set(e, ERR_MISSING, "there is no workspace %.64s", only);
		return err_remedy(e, "pinfold ls lists them");
	}
	return r;
}

/* Forget, then merge what is left. */
static int shrink(struct store *s, const char *name, const struct pinfold_gc_options *o,
		  uint64_t *ret_forgotten, struct err *e)
{
	auto_free struct workspace *w = calloc(1, sizeof(*w));
	int64_t before = store_now_ms() - (int64_t)o->history_ms;
	int r = w ? 0 : err_sys(e, "store");

	*ret_forgotten = 0;
	if (r >= 0 && o->history_ms)
		r = history_forget(s, name, before, o->last, ret_forgotten, e);
	if (r >= 0)
		r = workspace_find(s, name, w, e);
	if (r >= 0 && o->undone)
		r = store_collect_undone(s, w->id, e);
	return r < 0 ? r : workspace_merge(s, name, MERGE_BASE, e);
}

static int collect(struct store *s, const struct pinfold_gc_options *o,
		   struct workspace_names *names, struct pinfold_gc_stats *stats, struct err *e)
{
	bool shrinks = o->history_ms || o->undone;
	uint64_t bytes = 0, forgotten = 0;
	int r;

	(void)twins_reap(s);
	r = find_names(s, o->workspace, names, e);
	for (size_t i = 0; r >= 0 && i < names->n; i++) {
		stats->workspaces++;
		if (!shrinks)
			continue;
		struct err one = ERR_INIT;
		int k = shrink(s, names->name[i], o, &forgotten, &one);
		stats->snapshots += forgotten;
		if (k >= 0 || one.kind == ERR_MISSING)
			continue; /* or it was removed meanwhile */
		if (one.kind == ERR_BUSY) {
			stats->busy++;
			continue;
		}
		if (one.num == ENOSPC || one.num == EDQUOT)
			continue; /* merging takes room first: what needs none is done */
		*e = one;
		r = k;
	}
	if (r >= 0)
		r = store_collect(s, &bytes, e);
	return r >= 0 && shrinks ? store_measure(s, e) : r;
}

static struct value *asked(const struct pinfold_gc_options *o)
{
	struct value *v = value_object();

	if (o->history_ms) {
		value_set(v, "history_ms", value_of_u64(o->history_ms));
		value_set(v, "last", value_of_u64(o->last));
	}
	value_set(v, "undone", value_of_bool(o->undone));
	return v;
}

static struct value *outcome(const struct pinfold_gc_stats *stats)
{
	struct value *v = value_object();

	value_set(v, "snapshots", value_of_u64(stats->snapshots));
	value_set(v, "bytes_before", value_of_u64(stats->bytes_before));
	value_set(v, "bytes_after", value_of_u64(stats->bytes_after));
	return v;
}

int pinfold_store_gc(struct pinfold_store *store, const struct pinfold_gc_options *options,
		     struct pinfold_gc_stats *ret_stats, struct pinfold_error *ret_error)
{
	struct pinfold_gc_options o = {0};
	struct workspace_names names = {0};
	struct store_sizes sizes;
	struct err e = ERR_INIT;

	assert(store && options && ret_stats && ret_error);
	memcpy(&o, options, options->size < sizeof(o) ? options->size : sizeof(o));
	*ret_stats = (struct pinfold_gc_stats){0};
	struct op op = {.workspace = o.workspace};

	(void)reserve_give(store->store); /* else there is room */
	int r = op_begin(&op, "store.collect", store->store, asked(&o), &e);
	if (r >= 0)
		r = store_sizes(store->store, &sizes, &e);
	if (r >= 0) {
		ret_stats->bytes_before = sizes.bytes;
		r = collect(store->store, &o, &names, ret_stats, &e);
	}
	if (r >= 0)
		r = store_sizes(store->store, &sizes, &e);
	if (r >= 0)
		ret_stats->bytes_after = sizes.bytes;
	free(names.name);
	return sandbox_result(op_end(&op, r, r >= 0 ? outcome(ret_stats) : NULL, &e), &e,
			      ret_error);
}

int pinfold_store_sizes(struct pinfold_store *store, struct pinfold_store_sizes *ret_sizes,
			struct pinfold_error *ret_error)
{
	struct statfs fs = {0};
	struct store_sizes sizes;
	struct err e = ERR_INIT;
	int r = store_sizes(store->store, &sizes, &e);

	if (r >= 0 && fstatfs(store->store->layers_fd, &fs) < 0)
		r = err_sys(&e, "store");
	if (r >= 0)
		*ret_sizes = (struct pinfold_store_sizes){
			.layers = sizes.layers,
			.bytes = sizes.bytes,
			.shared_bytes = sizes.shared_bytes,
			.free_bytes = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize,
		};
	return sandbox_result(r, &e, ret_error);
}
