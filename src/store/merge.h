/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many small layers become one, so that a stack stays short enough to be mounted. The old ones stay
 * for as long as a snapshot needs them; files in both are one file on disk.
 *
 * Which: from the top down as long as the next one is not much larger than all above it together.
 * So a layer is merged again only when what lies on it has grown as large, which is rare, and a
 * stack has about as many layers as its size has doublings.
 */
#ifndef STORE_MERGE_H
#define STORE_MERGE_H

#include "store/history.h"

#define MERGE_FROM 8u /* layers in a stack: below that there is no need */
#define MERGE_LOCK 0  /* number of no workspace: held by who merges */

struct merge {
	struct workspace w;
	uint32_t number; /* the layer that is to be made */
	uint32_t parts;	 /* LAYER_* that those have which it replaces */
	bool is_base;	 /* w.stack is that of the base: whoever has it below gets the layer */
	unsigned count;	 /* how many of w.stack it replaces, from the top */
	uint32_t open;	 /* or what it is a copy of: the layer that a command is writing to, */
	char sandbox[ID_SIZE]; /* in this sandbox */
	int lock;
};

/* How much: */
enum merge_how {
	MERGE_LONG, /* only of a stack that has grown long, and only if nobody else merges */
	MERGE_MUST, /* so much that something can be put on it */
	MERGE_BASE, /* what the whole history stands on, where some of it was forgotten */
};

/* Names the layer that will hold what is merged of this workspace, and makes its directories. One
 * at a time. 1, or 0: nothing to do. */
int merge_begin(struct store *s, const char *name, enum merge_how how, struct merge *ret,
		struct err *e);
/* The same for a copy of what a command that is running has changed so far. ERR_BUSY: there is
 * none, or several share the workspace. */
int merge_begin_copy(struct store *s, const char *name, struct merge *ret, struct err *e);
/* That copy is whole: it is a snapshot beside the workspace's history, which goes on as if nothing
 * were. On disk when this returns. */
int merge_commit_copy(struct store *s, struct merge *m, struct snap *snap, struct err *e);
/* The layer is whole: the workspace stands on it, if it still has those that it replaces. */
int merge_commit(struct store *s, struct merge *m, struct err *e);
/* After either of them, or instead of the second. */
void merge_end(struct store *s, struct merge *m);

#endif
