/* SPDX-License-Identifier: Apache-2.0 */
/* The changes that are to be written to a directory, and what the public is told of them. */
#ifndef ENGINE_PICKED_H
#define ENGINE_PICKED_H

#include "apply/set.h"
#include "engine/review.h"
#include "pinfold/pinfold.h"

struct picked_more {
	uint64_t size_old, size_new;
	uint32_t mode_old, mode_new;
	const char *runs, *conflict, *skipped;
	const char *merges; /* it is to be merged, from `origin` */
	struct origin origin;
	char why[160]; /* what `conflict` says, where that is about lines */
	bool unless_named, chosen;
};

struct picked {
	struct apply_set set;
	struct picked_more *more; /* one for each item; owned */
	size_t room;
};

/* Another item, empty, in both. */
struct apply_item *picked_add(struct picked *p, const char *path, struct picked_more **ret_more,
			      struct err *e);
void picked_done(struct picked *p);

/* All changes of a workspace. */
int picked_collect(struct picked *p, struct host_dir *d, struct err *e);
/* Only those at or below one of `paths` (NULL: all), with the directories that they need, and
 * without what is left out; a link out of the directory is no conflict where it is named itself.
 * ERR_MISSING: nothing changed there. */
int picked_choose(struct picked *p, const char *const *paths, struct err *e);
/* ERR_CONFLICT, after `each` has heard of every conflict. */
int picked_refuse(struct picked *p, pinfold_review_fn *each, void *arg, struct err *e);
/* `each` hears of all. */
void picked_tell(const struct picked *p, pinfold_review_fn *each, void *arg);

#endif
