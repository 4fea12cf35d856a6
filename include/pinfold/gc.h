/* SPDX-License-Identifier: Apache-2.0 */
/* libpinfold: what the store holds, and giving back what nobody needs */
#ifndef PINFOLD_GC_H
#define PINFOLD_GC_H

#include "pinfold.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pinfold_gc_options {
	size_t size;
	const char *workspace; /* only this one; NULL: all */
	/* Forget commands that are older, so that they cannot be undone; what has a label stays. 0:
	 * none. */
	uint64_t history_ms;
	uint64_t last; /* but never the last so many of a workspace */
	int undone;    /* also what was taken back in the last hour */
};

struct pinfold_gc_stats {
	uint64_t workspaces;		    /* that were looked at, */
	uint64_t busy;			    /* and that were left because something runs in them */
	uint64_t snapshots;		    /* that were forgotten */
	uint64_t bytes_before, bytes_after; /* of all layers */
};

/* Remove what nobody needs any more. Where history was forgotten, the layers that all of the rest
 * stands on become one. */
PINFOLD_API int pinfold_store_gc(struct pinfold_store *store,
				 const struct pinfold_gc_options *options,
				 struct pinfold_gc_stats *ret_stats,
				 struct pinfold_error *ret_error);

/* What all workspaces and images together have on disk, each layer once. */
struct pinfold_store_sizes {
	uint64_t layers;
	uint64_t bytes;
	uint64_t shared_bytes; /* of layers that several workspaces or images stand on */
	uint64_t free_bytes;   /* on the filesystem */
};
PINFOLD_API int pinfold_store_sizes(struct pinfold_store *store,
				    struct pinfold_store_sizes *ret_sizes,
				    struct pinfold_error *ret_error);

#ifdef __cplusplus
}
#endif
#endif
