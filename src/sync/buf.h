/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that grow up to a declared maximum, a reader of bytes from outside, and memory that is
 * dropped as a whole. Writer and reader remember the first failure, so that a format is one list of
 * calls with one check at its end: after a failure writers add nothing and readers return zeros.
 *
 * Integers are little-endian; a varint has 7 bits a byte, low ones first, the top bit says that
 * more follows. There is one encoding for each number: longer ones are refused.
 */
#ifndef SYNC_BUF_H
#define SYNC_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *data;
	size_t len;
	size_t cap;
	size_t max;
	int error; /* 0, -ENOMEM or -E2BIG */
};

void buf_init(struct buf *b, size_t max);
void buf_done(struct buf *b);
/* Room for `len` more bytes, which are counted as written. NULL: b->error. */
uint8_t *buf_room(struct buf *b, size_t len);
void buf_add(struct buf *b, const void *data, size_t len);
void buf_u8(struct buf *b, uint8_t value);
void buf_u16(struct buf *b, uint16_t value);
void buf_u32(struct buf *b, uint32_t value);
void buf_u64(struct buf *b, uint64_t value);
void buf_varint(struct buf *b, uint64_t value);

#define auto_buf __attribute__((cleanup(buf_done)))

struct cursor {
	const uint8_t *at;
	const uint8_t *end;
	bool bad;
};

static inline struct cursor cursor_of(const void *data, size_t len)
{
	const uint8_t *p = data;

	return (struct cursor){.at = p, .end = len ? p + len : p};
}

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

/* `len` bytes where they are, or NULL. */
const uint8_t *cursor_bytes(struct cursor *c, size_t len);
uint8_t cursor_u8(struct cursor *c);
uint16_t cursor_u16(struct cursor *c);
uint32_t cursor_u32(struct cursor *c);
uint64_t cursor_u64(struct cursor *c);
uint64_t cursor_varint(struct cursor *c);
/* A varint of at most `max`. */
uint64_t cursor_upto(struct cursor *c, uint64_t max);
void cursor_copy(struct cursor *c, void *to, size_t len);

struct arena_block;
struct arena {
	struct arena_block *blocks;
	size_t used; /* of all blocks */
	size_t max;  /* 0: none */
};

/* Zeroed, aligned for anything. NULL when there is no memory or the maximum is reached. */
void *arena_alloc(struct arena *a, size_t size);
/* A copy of `len` bytes with a NUL behind. */
char *arena_text(struct arena *a, const char *text, size_t len);
void arena_done(struct arena *a);

#endif
