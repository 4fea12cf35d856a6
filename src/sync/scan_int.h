/* SPDX-License-Identifier: Apache-2.0 */
/* Between the walk (walk.c), which finds, and the scan (scan.c), which reads. */
#ifndef SYNC_SCAN_INT_H
#define SYNC_SCAN_INT_H

#include "sync/buf.h"
#include "sync/scan.h"

struct found {
	const char *path;		    /* the list's */
	const char *target;		    /* a link's */
	const struct manifest_entry *known; /* what the old index says is in it, or NULL */
	struct manifest_chunk *chunks;	    /* owned, once it was read */
	uint32_t n_chunks;
	uint8_t kind;
	bool gone;
	struct index_stat stat;
	uint8_t hash[HASH_BYTES];
};

struct found_list {
	struct found *all;
	size_t n;
	size_t cap;
	struct arena arena;
};

void found_done(struct found_list *list);

/* All that is in the tree and not left out, in the manifest's order. */
int walk_tree(int root, const struct scan_opts *opts, const struct index *old,
	      struct found_list *ret, struct scan_counts *counts, struct err *e);

#endif
