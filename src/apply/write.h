/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of a set:
 *
 *	apply_save()	copies what is there, and what it will be from
 *	apply_write()	does it; after a failure, or a kill:
 *	apply_back()	takes it back
 *
 * Staged files and originals have to be on disk before apply_write(); it sees to what it writes.
 */
#ifndef APPLY_WRITE_H
#define APPLY_WRITE_H

#include "apply/set.h"

/* Originals of all items into the staging directory. ERR_CONFLICT: one is not what was seen. */
int apply_save(struct apply_set *set, struct err *e);
/* ERR_CONFLICT: something changed at the last moment. The caller calls apply_back() then. */
int apply_write(struct apply_set *set, struct err *e);
/* Whatever was done of it is undone. Goes on after a failure, and tells the first. `seen` is not
 * needed. */
int apply_back(struct apply_set *set, struct err *e);

/* Is what the directory has at `item` what it was before, or (`new`) what it became? By content. */
bool apply_is(const struct apply_set *set, const struct apply_item *item, bool new);

#endif
