/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was written to directories of the host, so that it can be taken back: rows, and one staging
 * directory for each below applies/.
 *
 *	STAGING --> WRITING --> DONE --> (reverted: forgotten)
 *
 * STAGING	nothing of the directory was touched: whoever finds it forgets it
 * WRITING	maybe some was: whoever finds it, and can lock the directory, takes it back
 * DONE		all of it is there
 *
 * Who writes to a directory, or takes something back there, holds a lock on the directory itself.
 */
#ifndef STORE_APPLY_H
#define STORE_APPLY_H

#include "apply/set.h"
#include "store/workspace.h"

#define APPLIES_KEPT 8u /* that can be reverted, one after the other */

enum apply_state { APPLY_STAGING = 0, APPLY_WRITING = 1, APPLY_DONE = 2 };

struct apply_row {
	int64_t id, workspace, seq, reverts; /* reverts: the row that this takes back, 0 for none */
	enum apply_state state;
};

/* A row, then its staging directory: set->id and set->stage. */
int apply_begin(struct store *s, const struct workspace *w, int64_t seq, int64_t reverts,
		struct apply_set *set, struct err *e);
/* The items, and that they are going to be written; on disk with all that is staged. */
int apply_commit_writing(struct store *s, const struct apply_set *set, struct err *e);
/* All is written: what is there now is known to the workspace from now on. What was reverted is
 * forgotten, with the row that did it. */
int apply_commit_done(struct store *s, const struct workspace *w, const struct apply_set *set,
		      int64_t reverts, struct err *e);
/* Remember what the directory has at the items as our own doing, as far as it is what they became
 * (`new`) or were. */
int apply_note(struct store *s, int64_t workspace, const struct apply_set *set, bool new,
	       struct err *e);
/* The row, its items and its files. */
int apply_forget(struct store *s, int64_t id, struct err *e);
/* The oldest ones of a workspace, beyond APPLIES_KEPT; with `all`, every one. */
int apply_prune(struct store *s, int64_t workspace, bool all, struct err *e);

/* One that was begun for this directory and never ended. 1, or 0: none. */
int apply_find_unfinished(struct store *s, const char *dir, struct apply_row *ret, struct err *e);
/* The last that is done. */
int apply_find_last(struct store *s, int64_t workspace, struct apply_row *ret, struct err *e);
/* Items and staging directory of a row. */
int apply_load(struct store *s, const struct apply_row *row, struct apply_set *set, struct err *e);

/* What we wrote there ourselves last. */
struct applied {
	uint64_t ino;
	int64_t changed_ns;
	struct apply_known known;
};
/* 1, or 0: nothing. */
int apply_find_applied(struct store *s, int64_t workspace, const char *path, struct applied *ret,
		       struct err *e);
/* Is this file still that? */
bool apply_is_ours(const struct applied *a, const struct stat *st);
/* When a layer was opened, in ns. */
int layer_opened(struct store *s, uint32_t number, int64_t *ret_ns, struct err *e);

#endif
