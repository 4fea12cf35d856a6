/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a program of ours that handles hostile bytes gives up what it does not need: it keeps the
 * descriptors that it has, and a list of system calls. No libc state is touched beside ids.
 */
#ifndef KERNEL_CONFINE_H
#define KERNEL_CONFINE_H

#include <stdbool.h>

#include "base/err.h"

/* An id of nobody's, for root's daemon; below those of sandboxes. */
#define CONFINE_TLS_ID 0x6ffffffcu /* the gate has the one above */

#define CONFINE_CALLS_MAX 120u

/* What a program may still open by name. */
struct confine_path {
	int fd;	    /* of a directory, with all below it, or of a file; borrowed */
	bool write; /* also make, change and remove; of a file: change */
};
#define CONFINE_PATHS_MAX 12u

struct confine {
	unsigned id;	  /* for root: uid and gid from now on */
	bool connects;	  /* may open TCP connections; else neither connect nor bind */
	const int *calls; /* numbers of system calls; any other answers EPERM */
	unsigned n_calls;
	const struct confine_path *paths; /* with some, Landlock must be there */
	unsigned n_paths;
};

/*
 * In this order: ids, capabilities, no-new-privs, no core dumps and no tracing, SIGKILL when the
 * parent dies, Landlock with no path but those listed, the filter. mmap() and mprotect() are
 * refused where they would make memory executable. The process must have one thread. Where the
 * kernel has no Landlock the filter stands alone: list no call that takes a path.
 */
int confine_self(const struct confine *c, struct err *e);

#endif
