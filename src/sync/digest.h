/* SPDX-License-Identifier: Apache-2.0 */
/* What is in a file, as a manifest says it; and how a file is opened and looked at here. */
#ifndef SYNC_DIGEST_H
#define SYNC_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "sync/manifest.h"

#define DIGEST_BUFFER ((1u << 20) + 1) /* one byte more than a file that is one chunk */

struct digest {
	uint64_t size;
	struct manifest_chunk *chunks; /* owned; NULL for a file of one chunk */
	uint32_t n_chunks;
	uint8_t hash[HASH_BYTES];
};

void digest_done(struct digest *d);
#define auto_digest __attribute__((cleanup(digest_done)))

/* Read a file from its start. `buffer` has DIGEST_BUFFER bytes; where the file is one chunk its
 * content is there afterwards. */
int digest_fd(int fd, uint8_t *buffer, struct digest *ret, struct err *e);

/* Open below `root` without following any link, on the way or at the end. -1 and errno. Never waits
 * for a FIFO's other end. */
int open_below(int root, const char *path, int flags, unsigned mode);

/* `len` bytes from `offset`, all of them. 0, or -errno; -ENODATA when the file is shorter. */
int read_all_at(int fd, void *to, size_t len, uint64_t offset);

#endif
