/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that were downloaded, by the hash of what is in them: deps/files/SHA256 below the data
 * directory. A name says what has to be inside, not what is: who uses one hashes it again on the
 * way.
 */
#ifndef STORE_BLOB_H
#define STORE_BLOB_H

#include <stdbool.h>

#include "base/hash.h"
#include "store/store.h"

/* One that is being written: it has no name until it is whole. */
struct blob {
	struct store *store; /* borrowed */
	int fd;
	struct hash hash;
	uint64_t bytes;
};

int blob_begin(struct store *s, struct blob *ret, struct err *e);
int blob_add(struct blob *b, const void *data, size_t len, struct err *e);
/* Under its name if that is the hash, else gone: ERR_CONFLICT. Ends it, whatever happens. */
int blob_keep(struct blob *b, const char *sha256, struct err *e);
void blob_end(struct blob *b);

bool blob_is_there(const struct store *s, const char *sha256);
bool blob_size(const struct store *s, const char *sha256, uint64_t *ret); /* false: none */
/* Open it to be read; it counts as used. 1, or 0: there is none. */
int blob_open(const struct store *s, const char *sha256, int *ret_fd, uint64_t *ret_bytes,
	      struct err *e);
/* It is not what its name says, or nobody needs it. */
void blob_drop(const struct store *s, const char *sha256);
/* Remove those that were not used for so long. */
int blob_collect(const struct store *s, int64_t unused_ms, unsigned *ret_n, uint64_t *ret_bytes,
		 struct err *e);

#endif
