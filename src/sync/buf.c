/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/buf.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES (64u << 10)

void buf_init(struct buf *b, size_t max)
{
	*b = (struct buf){.max = max};
}

void buf_done(struct buf *b)
{
	free(b->data);
	*b = (struct buf){.max = b->max};
}

uint8_t *buf_room(struct buf *b, size_t len)
{
	if (b->error)
		return NULL;
	if (len > b->max - b->len) {
		b->error = -E2BIG;
		return NULL;
	}
	if (len > b->cap - b->len) {
		size_t want = b->cap + b->cap / 2 + 256;

		want = want < b->len + len ? b->len + len : want;
		want = want > b->max ? b->max : want;
		uint8_t *grown = realloc(b->data, want);
		if (!grown) {
			b->error = -ENOMEM;
			return NULL;
		}
		b->data = grown;
		b->cap = want;
	}
	b->len += len;
	return b->data + b->len - len;
}

void buf_add(struct buf *b, const void *data, size_t len)
{
	if (len == 0)
		return;
	uint8_t *to = buf_room(b, len);
	if (to)
		memcpy(to, data, len);
}

static void add_le(struct buf *b, uint64_t value, size_t len)
{
	uint8_t *to = buf_room(b, len);

	for (size_t i = 0; to && i < len; i++)
		to[i] = (uint8_t)(value >> (8 * i));
}

void buf_u8(struct buf *b, uint8_t value)
{
	add_le(b, value, 1);
}

void buf_u16(struct buf *b, uint16_t value)
{
	add_le(b, value, 2);
}

void buf_u32(struct buf *b, uint32_t value)
{
	add_le(b, value, 4);
}

void buf_u64(struct buf *b, uint64_t value)
{
	add_le(b, value, 8);
}

void buf_varint(struct buf *b, uint64_t value)
{
	uint8_t bytes[10];
	size_t n = 0;

	while (value >= 0x80) {
		bytes[n++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	bytes[n++] = (uint8_t)value;
	buf_add(b, bytes, n);
}

const uint8_t *cursor_bytes(struct cursor *c, size_t len)
{
	if (c->bad || len > cursor_left(c)) {
		c->bad = true;
		return NULL;
	}
	c->at += len;
	return c->at - len;
}

static uint64_t take_le(struct cursor *c, size_t len)
{
	const uint8_t *from = cursor_bytes(c, len);
	uint64_t value = 0;

	for (size_t i = 0; from && i < len; i++)
		value |= (uint64_t)from[i] << (8 * i);
	return value;
}

uint8_t cursor_u8(struct cursor *c)
{
	return (uint8_t)take_le(c, 1);
}

uint16_t cursor_u16(struct cursor *c)
{
	return (uint16_t)take_le(c, 2);
}

uint32_t cursor_u32(struct cursor *c)
{
	return (uint32_t)take_le(c, 4);
}

uint64_t cursor_u64(struct cursor *c)
{
	return take_le(c, 8);
}

uint64_t cursor_varint(struct cursor *c)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = cursor_u8(c);

		if (c->bad)
			return 0;
		/* The tenth byte has one bit to give; a last byte of zero says nothing. */
		if ((shift == 63 && byte > 1) || (shift > 0 && byte == 0))
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	c->bad = true;
	return 0;
}

uint64_t cursor_upto(struct cursor *c, uint64_t max)
{
	uint64_t value = cursor_varint(c);

	if (value > max)
		c->bad = true;
	return c->bad ? 0 : value;
}

void cursor_copy(struct cursor *c, void *to, size_t len)
{
	const uint8_t *from = cursor_bytes(c, len);

	if (from)
		memcpy(to, from, len);
	else
		memset(to, 0, len);
}

struct arena_block {
	struct arena_block *next;
	size_t used;
	size_t cap;
	max_align_t data[];
};

void *arena_alloc(struct arena *a, size_t size)
{
	struct arena_block *b = a->blocks;

	size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
	if (a->max && (size > a->max || a->used > a->max - size))
		return NULL;
	if (!b || size > b->cap - b->used) {
		size_t cap = size > BLOCK_BYTES ? size : BLOCK_BYTES;

		b = calloc(1, sizeof(*b) + cap);
		if (!b)
			return NULL;
		b->cap = cap;
		b->next = a->blocks;
		a->blocks = b;
	}
	void *p = (char *)b->data + b->used;
	b->used += size;
	a->used += size;
	return p;
}

char *arena_text(struct arena *a, const char *text, size_t len)
{
	char *copy = arena_alloc(a, len + 1);

	if (copy && len)
		memcpy(copy, text, len);
	return copy;
}

void arena_done(struct arena *a)
{
	while (a->blocks) {
		struct arena_block *b = a->blocks;

		a->blocks = b->next;
		free(b);
	}
	a->used = 0;
}
