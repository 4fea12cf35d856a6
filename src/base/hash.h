/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdint.h>

#define HASH_TEXT_SIZE 65

/* SHA-256 of at most `max` bytes of a file, in hexadecimal. 0, or -errno; -EFBIG when there are
 * more. Reads, never maps: the file may shrink meanwhile. */
int hash_fd(int fd, uint64_t max, char ret[HASH_TEXT_SIZE]);

#endif
