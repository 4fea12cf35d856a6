/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer that is made for no workspace: an image's, a set of packages'. Its row says under which
 * number, one of no workspace, whoever makes it holds a lock; without that it is collected.
 *
 *	making_begin()  -->  making_freeze(), in the transaction that writes down whose it is, making_keep()
 *	                \->  making_end() alone: it never was
 */
#ifndef STORE_MAKING_H
#define STORE_MAKING_H

#include "store/store.h"
#include "store/workspace.h"

struct making {
	struct store *store; /* borrowed */
	uint32_t number;
	int lock;
};

/* The number under which a thing of this kind is locked; id 0: by who makes one. */
int apart_lock(struct store *s, int64_t kind, int64_t id, enum workspace_use use, int *ret_fd,
	       struct err *e);

/* Its directory has one part (LAYER_*), which is empty. */
int making_begin(struct store *s, int64_t kind, uint32_t part, struct making *ret, struct err *e);
/* Its files are on disk. */
int making_sync(const struct making *m, struct err *e);
int making_freeze(const struct making *m, uint32_t parts, uint64_t files, uint64_t bytes,
		  struct err *e);
/* It belongs to somebody now. */
void making_keep(struct making *m);
void making_end(struct making *m);

#endif
