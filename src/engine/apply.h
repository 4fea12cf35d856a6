/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_APPLY_H
#define ENGINE_APPLY_H

#include "engine/host_dir.h"
#include "engine/picked.h"

/* Write a set whose new files are staged and whose row there is; `reverts` is the row that this
 * takes back, or 0. All of it or, with an error, nothing. */
int apply_staged(struct host_dir *d, struct apply_set *set, int64_t reverts, struct err *e);

/* Staged files that are to be merged with what the directory has become what comes of it; `each`
 * hears of every one that cannot be: ERR_CONFLICT. */
int apply_merge(struct host_dir *d, struct picked *p, pinfold_review_fn *each, void *arg,
		struct err *e);
/* What the workspace has of each staged file is kept: the next merge begins with it. */
void apply_keep(struct host_dir *d, struct picked *p);

#endif
