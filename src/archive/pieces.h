/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of any number over a pipe, and then what became of them:
 *
 *	u32	how many bytes follow (little-endian), at most PIECE_BYTES_MAX; 0: no more
 *	...	an answer (tree/answer.h) behind the 0
 */
#ifndef ARCHIVE_PIECES_H
#define ARCHIVE_PIECES_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define PIECE_BYTES_MAX (128u << 10)

struct pieces_out {
	int fd; /* borrowed */
	size_t used;
	uint8_t buf[4 + PIECE_BYTES_MAX];
};

int pieces_put(struct pieces_out *out, const void *data, size_t len, struct err *e);
/* All that is left, and that there is no more. */
int pieces_end(struct pieces_out *out, struct err *e);

/* Read them, and write the bytes to `to`; returns at their end, before the answer. *ret_bytes is
 * how many there were. */
int pieces_copy(int from, int to, uint64_t *ret_bytes, struct err *e);

#endif
