/* SPDX-License-Identifier: Apache-2.0 */
/* One item and where it is, for the files of this room. */
#ifndef APPLY_WRITE_INT_H
#define APPLY_WRITE_INT_H

#include "apply/write.h"

struct apply_at {
	int dir; /* that holds the item, open */
	const char *name;
	char temp[64];	 /* a name of ours there */
	char staged[32]; /* nN or oN */
};

/* Opens the directory; close it. */
int apply_find(const struct apply_set *set, size_t i, bool new, struct apply_at *ret,
	       struct err *e);
/* Make what is staged, under the name of ours, and see that it is on disk. `exact`: with the mode,
 * owner and time of what is staged; else with those of the file that it takes the place of, or as a
 * new one. */
int apply_make(const struct apply_item *item, const struct apply_set *set,
	       const struct apply_at *at, bool exact, struct err *e);
/* A directory with mode and owner of the one that is staged. */
int apply_make_dir(const struct apply_set *set, const struct apply_at *at, struct err *e);
/* Wait until the names in the directories of all items are on disk. */
int apply_sync_names(const struct apply_set *set, struct err *e);
/* One directory in another: they cannot be exchanged with anything. */
static inline bool apply_is_swap(const struct apply_item *item)
{
	return item->old != APPLY_NONE && item->new != APPLY_NONE && item->old != item->new &&
	       (item->old == APPLY_DIR || item->new == APPLY_DIR);
}

#endif
