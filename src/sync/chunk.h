/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where to cut a large file, so that a byte put in moves one cut or two and not all behind it. The
 * cuts depend on the content alone: sixty-four bytes decide whether there is one after them. Pure.
 */
#ifndef SYNC_CHUNK_H
#define SYNC_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHUNK_WHOLE_MAX (1u << 20) /* files up to that size are one chunk */
#define CHUNK_MIN (64u << 10)
#define CHUNK_AVERAGE (256u << 10)
#define CHUNK_MAX (1u << 20)

struct chunker {
	uint64_t gear;
	uint32_t len; /* of the chunk so far */
};

/* How many of the bytes belong to the chunk that is open; *ret_cut: and it ends there. The last
 * chunk of a file is what is open at its end. Begin with a zeroed chunker. */
size_t chunk_feed(struct chunker *c, const uint8_t *data, size_t len, bool *ret_cut);

#endif
