/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes over a pipe, hashed as they go: what the tree stream and the stream of changes are made of.
 * Integers are little-endian. Every stream begins with a magic of 8 bytes (its kind and version)
 * and closes with a SHA-256 of all before it, so that a cut or damaged one is noticed.
 */
#ifndef TREE_FRAME_H
#define TREE_FRAME_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"

#define FRAME_MAGIC_BYTES 8
#define FRAME_BUFFER_BYTES (256u << 10)

struct frame_out {
	int fd; /* borrowed */
	struct hash hash;
	uint8_t *buf;
	size_t used;
};

int frame_out_init(struct frame_out *out, int fd, const char *magic, struct err *e);
void frame_out_done(struct frame_out *out);
int frame_put(struct frame_out *out, const void *data, size_t len, struct err *e);
/* The hash of all before, and everything out to the descriptor. */
int frame_seal(struct frame_out *out, struct err *e);

struct frame_in {
	int fd; /* borrowed */
	struct hash hash;
	uint8_t *buf;
	size_t pos, have;
};

/* Reads the magic, too. */
int frame_in_init(struct frame_in *in, int fd, const char *magic, struct err *e);
void frame_in_done(struct frame_in *in);
/* Exactly `len` bytes; a stream that ends before is ERR_INVALID. */
int frame_take(struct frame_in *in, void *data, size_t len, struct err *e);
/* The hash must fit, and nothing may follow. */
int frame_check_seal(struct frame_in *in, struct err *e);

/*
 * An error as the last record of a stream: whoever reads it gets it as his own, with what the other
 * side said made harmless for a terminal.
 */
#define FRAME_ERR_BYTES (4 + 4 + 24 + 640 + 512)
int frame_put_err(struct frame_out *out, const struct err *what, struct err *e);
/* Fills `e` with what was said; negative, always. */
int frame_take_err(struct frame_in *in, struct err *e);

static inline uint8_t *frame_le16(uint8_t *p, uint16_t v)
{
	v = htole16(v);
	memcpy(p, &v, sizeof(v));
	return p + sizeof(v);
}

static inline uint8_t *frame_le32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
	return p + sizeof(v);
}

static inline uint8_t *frame_le64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
	return p + sizeof(v);
}

static inline uint16_t frame_get16(const uint8_t **p)
{
	uint16_t v;

	memcpy(&v, *p, sizeof(v));
	*p += sizeof(v);
	return le16toh(v);
}

static inline uint32_t frame_get32(const uint8_t **p)
{
	uint32_t v;

	memcpy(&v, *p, sizeof(v));
	*p += sizeof(v);
	return le32toh(v);
}

static inline uint64_t frame_get64(const uint8_t **p)
{
	uint64_t v;

	memcpy(&v, *p, sizeof(v));
	*p += sizeof(v);
	return le64toh(v);
}

#endif
