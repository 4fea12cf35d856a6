/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gear hash: shift, and add a random number for each byte, so that after 64 bytes the first is
 * forgotten. A cut is where some of its bits are zero: more bits before the average size and fewer
 * after it, which keeps sizes near the average.
 *
 * Table and masks are part of the format: who changes them has every chunk sent again.
 */
#include "sync/chunk.h"

#include <assert.h>
#include <pthread.h>

#define SEED UINT64_C(0x70696e666f6c6431) /* "pinfold1" */
/* The top bits: all of the last 64 bytes have a say in them. */
#define MASK_BEFORE (UINT64_C(0xfffff) << 44)
#define MASK_AFTER (UINT64_C(0xffff) << 48)

static uint64_t table[256];
static pthread_once_t table_made = PTHREAD_ONCE_INIT;

/* splitmix64 */
static void make_table(void)
{
	uint64_t state = SEED;

	for (int i = 0; i < 256; i++) {
		uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));

		z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
		table[i] = z ^ (z >> 31);
	}
}

/* Bytes from `at` until the hash has zeros under the mask, at most up to `end`. */
static size_t roll(struct chunker *c, const uint8_t *data, size_t at, size_t end, uint64_t mask)
{
	uint64_t gear = c->gear;

	while (at < end) {
		gear = (gear << 1) + table[data[at++]];
		if (!(gear & mask))
			break;
	}
	c->gear = gear;
	return at;
}

static size_t until(uint32_t have, size_t len, uint32_t limit)
{
	size_t left = have < limit ? limit - have : 0;

	return left < len ? left : len;
}

size_t chunk_feed(struct chunker *c, const uint8_t *data, size_t len, bool *ret_cut)
{
	size_t skip = until(c->len, len, CHUNK_MIN - 64);
	size_t warm = until(c->len, len, CHUNK_MIN);
	size_t middle = until(c->len, len, CHUNK_AVERAGE);
	size_t end = until(c->len, len, CHUNK_MAX);
	size_t at = skip;

	assert(c->len < CHUNK_MAX);
	(void)pthread_once(&table_made, make_table); /* cannot fail here */
	*ret_cut = false;
	/* Nothing is cut below the least size, so hashing starts just before it. */
	while (at < warm)
		c->gear = (c->gear << 1) + table[data[at++]];
	if (at < middle) {
		at = roll(c, data, at, middle, MASK_BEFORE);
		*ret_cut = !(c->gear & MASK_BEFORE);
	}
	if (!*ret_cut && at < end) {
		at = roll(c, data, at, end, MASK_AFTER);
		*ret_cut = !(c->gear & MASK_AFTER);
	}
	c->len += (uint32_t)at;
	*ret_cut |= c->len == CHUNK_MAX;
	if (*ret_cut)
		*c = (struct chunker){0};
	return at;
}
