/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_APPLY_H
#define ENGINE_APPLY_H

#include "engine/host_dir.h"
#include "engine/picked.h"
#include "engine/reader.h"

/* Write a set whose new files are staged and whose row there is; `reverts` is the row that this
 * takes back, or 0. All of it or, with an error, nothing. */
int apply_staged(struct host_dir *d, struct apply_set *set, int64_t reverts, struct err *e);

/* Staged files that are to be merged with what the directory has become what comes of it; `each`
 * hears of every one that cannot be: ERR_CONFLICT. */
int apply_merge(struct host_dir *d, struct picked *p, pinfold_review_fn *each, void *arg,
		struct err *e);
/* Whether one that is to be merged from m->origin can be: else m->conflict says why not, as apply_merge()
 * would. Nothing is staged or written. */
int apply_foresee(struct host_dir *d, const struct tree_change *c, struct picked_more *m,
		  struct err *e);
/* Have what the workspace has at `paths`, each with its NUL, sent over ret->out (tree/stream.h), in
 * that order. */
int apply_ask(struct host_dir *d, const char *paths, size_t len, struct reader *ret, struct err *e);
/* What the workspace has of each staged file is kept: the next merge begins with it. */
void apply_keep(struct host_dir *d, struct picked *p);

#endif
