/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between two views of a tree. */
#ifndef TREE_DIFF_H
#define TREE_DIFF_H

#include <sys/stat.h>

#include "tree/change.h"

struct tree_diff_in {
	int old_fd,
		new_fd; /* complete views, merged by overlayfs or plain; negative: nothing is there */
	/* Raw uppers, any order. Only what has a name in one of them is looked at, and all below a
	 * directory that one of them hides. None: everything is looked at. */
	const int *layers;
	unsigned n_layers;
	const char *prefix; /* begins every path; "" for none */
};

/* Where the change is, for who wants to read the files themselves. */
struct tree_diff_at {
	int old_dir, new_dir; /* negative where there is none; borrowed */
	const char *name;
	struct stat old_st, new_st; /* st_mode 0: it is not there */
};

/* The strings of `c` are good during the call; flags, hashes and text may be filled in for
 * later. */
typedef int tree_diff_fn(void *ctx, struct tree_change *c, const struct tree_diff_at *at,
			 struct err *e);

/*
 * Call `fn` for every path whose state differs, in the order of a walk, a directory before what is
 * below it. A time alone is no change. Directories that come or go are told of with all that is
 * below them; a rename is what came and what went. Paths that are too long to be named are counted
 * in *ret_omitted.
 */
int tree_diff(const struct tree_diff_in *in, tree_diff_fn *fn, void *ctx, uint64_t *ret_omitted,
	      struct err *e);

#endif
