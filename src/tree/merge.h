/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TREE_MERGE_H
#define TREE_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct tree_merge_stats {
	uint64_t dirs, linked, copied, whiteouts;
	uint64_t bytes;	     /* copied */
	uint64_t attrs_lost; /* extended attributes that could not be set */
};

struct tree_merge_in {
	const int *layers; /* bottom first, at most TREE_LAYERS_MAX */
	unsigned n;
	/* So many of them, from the bottom, are what the new layer will lie on: they are looked at
	 * and have no part in it. 0: nobody knows what it will lie on. */
	unsigned below;
	bool bottom; /* it will lie on nothing */
};

/*
 * Make in `out_fd`, an empty directory, one layer that is to what lies below what these layers are,
 * stacked. A directory that is not there below has no whiteouts: overlayfs, which shows a directory
 * of one layer as it is, would list their names. On nothing there are no opaque marks either. Files
 * are linked, so layers and `out_fd` should be reached through one mount; else they are cloned, or
 * copied with their holes. The layers are only read; nothing is waited for to be on disk. After an
 * error, what is in `out_fd` is worth nothing.
 */
int tree_merge(int out_fd, const struct tree_merge_in *in, struct tree_merge_stats *ret,
	       struct err *e);

#endif
