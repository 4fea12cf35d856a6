/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TREE_PACK_H
#define TREE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct tree_pack_opts {
	bool layer;  /* a raw layer: whiteouts become TREE_GONE, opaque directories say so */
	bool strict; /* a file that changes while it is read ends the packing (ERR_BUSY) */
};

struct tree_pack_stats {
	uint64_t entries, bytes;
	uint64_t skipped; /* sockets and devices */
	uint64_t changed; /* while they were read, without `strict`: as long as they were, torn */
};

/*
 * Write what is at `path` below `dirfd` ("" or ".": the directory itself) as a tree stream, in an
 * order that depends on names alone. Follows no link, waits for nobody; nothing below has to hold
 * still. A name that vanishes meanwhile was not there. A path of more than TREE_PATH_MAX bytes is
 * ERR_LIMIT: it can be walked but not named. On an error the stream ends with it, where it can.
 */
int tree_pack(int dirfd, const char *path, const struct tree_pack_opts *opts, int out_fd,
	      struct tree_pack_stats *ret, struct err *e);

/*
 * The same of single paths below `dirfd`, each ended by a NUL, in the order of a walk: each a
 * record of its own, a directory without what is in it, a file with its bytes whatever other names
 * it has. What is not there has no record.
 */
int tree_pack_some(int dirfd, const char *paths, size_t len, int out_fd,
		   struct tree_pack_stats *ret, struct err *e);

#endif
