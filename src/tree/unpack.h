/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TREE_UNPACK_H
#define TREE_UNPACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "tree/stream.h"

struct tree_unpack_opts {
	/* What the root of the stream is called below `dirfd`; NULL: it is `dirfd` itself, and must
	 * be a directory. One name, no path. */
	const char *root_name;
	bool root_meta; /* without root_name: `dirfd` gets mode, owner and time of the root, too */
	bool replace;	/* a directory may take the place of something else, and the other way */
	bool parents;	/* directories that are missing on the way are made, 0755 */
	bool owners;	/* uid and gid of the stream; else all belongs to the caller */
	struct tree_limits limits;
};

struct tree_unpack_stats {
	uint64_t files, dirs, symlinks, links, fifos;
	uint64_t gone;	     /* paths that were there and are no more */
	uint64_t skipped;    /* sockets and devices of the other side */
	uint64_t bytes;	     /* of files, without holes */
	uint64_t attrs_lost; /* extended attributes that could not be set */
};

/*
 * Make below `dirfd` what a tree stream tells of. Nothing is ever made, changed or removed outside,
 * nor through a link, whoever changes the tree meanwhile. A file comes into being under a name of
 * ours and is renamed to its own when it is whole. What is in the way of something of another type
 * is ERR_CONFLICT unless opts->replace. A full disk or quota is ERR_LIMIT with the detail "disk".
 * What was made before an error stays.
 */
int tree_unpack(int in_fd, int dirfd, const struct tree_unpack_opts *opts,
		struct tree_unpack_stats *ret, struct err *e);

#endif
