/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TREE_DIGEST_H
#define TREE_DIGEST_H

#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"

struct tree_digest {
	uint8_t hash[HASH_BYTES];
	uint64_t entries;
	uint64_t bytes;	 /* that were read */
	uint64_t size;	 /* of files, with holes; each once, however many names it has */
	uint64_t blocks; /* of 512 bytes, as the filesystem counts them */
};

/*
 * One hash of a raw layer: of all that it says, and nothing else. Names, types, whiteouts and
 * opaque marks, modes, owners, times of files, bytes, targets, attributes, and which names are one
 * file. Not in it: times of directories and of reading, inode numbers, where holes are, names that
 * files have in other layers, and overlayfs's own notes.
 */
int tree_digest(int layer_fd, struct tree_digest *ret, struct err *e);

#endif
