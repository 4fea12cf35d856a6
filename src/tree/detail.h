/* SPDX-License-Identifier: Apache-2.0 */
/* What a change is in bytes: hashes of both sides, and the difference as text. */
#ifndef TREE_DETAIL_H
#define TREE_DETAIL_H

#include "tree/diff.h"

struct tree_detail {
	bool hash, text;
	uint64_t hash_max;  /* bytes of a file that is hashed, at most; larger ones have no hash */
	uint64_t text_left; /* bytes of text that may still be sent; counts down */
	char *out;	    /* the last text, ours */
};

void tree_detail_done(struct tree_detail *detail);
/* Fill `c`; its text is good until the next call. A file that cannot be read is
 * TREE_DIFF_UNREADABLE and no error. */
int tree_detail_fill(struct tree_detail *detail, struct tree_change *c,
		     const struct tree_diff_at *at, struct err *e);

#endif
