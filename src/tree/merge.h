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

/*
 * Make in `out_fd`, an empty directory, one layer that is to whatever lies below what these layers
 * are, stacked (`layers` bottom first, at most TREE_LAYERS_MAX). `bottom`: nothing lies below, so
 * there are no whiteouts and opaque marks left. Files are linked, so layers and `out_fd` should be
 * reached through one mount; else they are cloned, or copied with their holes. The layers are only
 * read; nothing is waited for to be on disk. After an error, what is in `out_fd` is worth nothing.
 */
int tree_merge(int out_fd, const int *layers, unsigned n, bool bottom, struct tree_merge_stats *ret,
	       struct err *e);

#endif
