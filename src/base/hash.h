/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_SIZE 32
#define HASH_TEXT_SIZE 65

/* SHA-256 of at most `max` bytes of a file, in hexadecimal. 0, or -errno; -EFBIG when there are
 * more. Reads, never maps: the file may shrink meanwhile. */
int hash_fd(int fd, uint64_t max, char ret[HASH_TEXT_SIZE]);

/* SHA-256 of bytes as they come. Holds no resource: it may be dropped at any moment. */
struct hash {
	uint64_t room[14]; /* for the library's own */
};

void hash_init(struct hash *h);
void hash_add(struct hash *h, const void *data, size_t len);
void hash_end(struct hash *h, uint8_t ret[HASH_SIZE]);
/* All three at once. */
void hash_bytes(const void *data, size_t len, uint8_t ret[HASH_SIZE]);
/* In hexadecimal. */
void hash_text(const uint8_t hash[HASH_SIZE], char ret[HASH_TEXT_SIZE]);

#endif
