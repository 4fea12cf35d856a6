/* SPDX-License-Identifier: Apache-2.0 */
/* One item and where it is, for the files of this room. */
#ifndef APPLY_WRITE_INT_H
#define APPLY_WRITE_INT_H

#include "apply/write.h"

struct apply_at {
	int dir; /* that holds the item, open */
	const char *name;
	char part[80];	 /* a name of ours there: what is being made, worth nothing */
	char aside[64];	 /* and another: what is whole, or was moved out of the way */
	char staged[32]; /* nN or oN */
};

/* Opens the directory; close it. */
int apply_find(const struct apply_set *set, size_t i, bool new, struct apply_at *ret,
	       struct err *e);
/* Make what is staged, as at->part. `exact`: with the mode, owner and time of what is staged; else
 * with those of the file that it takes the place of, or as a new one. */
int apply_make(const struct apply_item *item, const struct apply_set *set,
	       const struct apply_at *at, bool exact, struct err *e);
/* A directory with mode and owner of the one that is staged. */
int apply_make_dir(const struct apply_set *set, const struct apply_at *at, struct err *e);
/* All that was done so far is on disk when this returns. */
int apply_sync(const struct apply_set *set, struct err *e);
/* One directory in another: they cannot be exchanged with anything. */
static inline bool apply_is_swap(const struct apply_item *item)
{
	return item->old != APPLY_NONE && item->new != APPLY_NONE && item->old != item->new &&
	       (item->old == APPLY_DIR || item->new == APPLY_DIR);
}

#endif
