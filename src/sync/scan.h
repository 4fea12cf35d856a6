/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a directory to a manifest. No link is followed; FIFOs, sockets and devices are passed over
 * and counted; files that the last index still tells about are not read.
 *
 * A file that vanishes while the tree is walked is not in the manifest. One that cannot be read is
 * an error, because a list that lacks it would have it removed on the other side.
 */
#ifndef SYNC_SCAN_H
#define SYNC_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sync/index.h"

struct scan_opts {
	struct manifest_limits limits;
	bool skip_git;	     /* leave out .git */
	bool take_all;	     /* look at no ignore file */
	bool skip_links_out; /* leave out and count links that lead out of the tree */
	bool any_dev;	     /* see index_holds() */
	unsigned threads;    /* to read with, when there is much to read; 0: 2 */
};

struct scan_counts {
	uint64_t special;   /* neither file, directory nor link */
	uint64_t ignored;   /* by rules; what is below a directory is not counted */
	uint64_t links_out; /* left out */
	uint64_t read;	    /* files that were read */
	uint64_t bytes_read;
};

/* `old` may be empty. */
int scan_tree(int root, const struct scan_opts *opts, const struct index *old, struct index *ret,
	      struct scan_counts *counts, struct err *e);

#endif
