/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_BYTES 32
#define HASH_TEXT_SIZE 65

/* SHA-256 as it goes. No heap: a hash that is not finished is just forgotten. */
struct hash {
	uint64_t state[14];
};

void hash_init(struct hash *h);
void hash_add(struct hash *h, const void *data, size_t len);
/* `h` is used up. */
void hash_done(struct hash *h, uint8_t ret[HASH_BYTES]);
void hash_bytes(const void *data, size_t len, uint8_t ret[HASH_BYTES]);
void hash_text(const uint8_t digest[HASH_BYTES], char ret[HASH_TEXT_SIZE]);

#define HASH_SHA1_BYTES 20
/* SHA-1, which protects nothing: the opening of a WebSocket is made of it. */
void hash_sha1(const void *data, size_t len, uint8_t ret[HASH_SHA1_BYTES]);

/* SHA-256 of at most `max` bytes of a file, in hexadecimal. 0, or -errno; -EFBIG when there are
 * more. Reads, never maps: the file may shrink meanwhile. */
int hash_fd(int fd, uint64_t max, char ret[HASH_TEXT_SIZE]);

#endif
