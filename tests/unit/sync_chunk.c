/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts of large files: where they are does not depend on how the bytes come, and hardly moves. */
#include <stdint.h>

#include "base/hash.h"
#include "sync/chunk.h"
#include "tap.h"

#define SIZE (24u << 20)
#define CUTS_MAX 512

static void fill(uint8_t *data, size_t len, uint64_t seed)
{
	for (size_t i = 0; i < len; i++) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		data[i] = (uint8_t)(seed >> 56);
	}
}

struct cuts {
	size_t n;
	size_t len[CUTS_MAX];
	uint8_t hash[CUTS_MAX][HASH_BYTES];
};

static void cut(const uint8_t *data, size_t len, size_t step, struct cuts *ret)
{
	struct chunker c = {0};
	size_t at = 0, start = 0;

	ret->n = 0;
	while (at < len) {
		bool is_cut = false;

		at += chunk_feed(&c, data + at, len - at < step ? len - at : step, &is_cut);
		if (is_cut || at == len) {
			ret->len[ret->n] = at - start;
			hash_bytes(data + start, at - start, ret->hash[ret->n++]);
			start = at;
		}
	}
}

static unsigned differ(const struct cuts *a, const struct cuts *b)
{
	unsigned n = 0;

	for (size_t i = 0; i < b->n; i++) {
		bool found = false;

		for (size_t j = 0; j < a->n && !found; j++)
			found = memcmp(a->hash[j], b->hash[i], HASH_BYTES) == 0;
		n += !found;
	}
	return n;
}

static void sizes(void)
{
	uint8_t *data = malloc(SIZE);
	static struct cuts one, other;
	size_t steps[] = {1, 7, 4096, 65535, 1 << 20}, good = 0;

	fill(data, SIZE, 1);
	cut(data, SIZE, SIZE, &one);
	for (size_t i = 0; i + 1 < one.n; i++)
		good += one.len[i] >= CHUNK_MIN && one.len[i] <= CHUNK_MAX;
	diag("%zu chunks, %zu bytes each", one.n, SIZE / one.n);
	is_int((int)good, (int)one.n - 1, "all but the last are between least and most");
	ok(SIZE / one.n > CHUNK_AVERAGE * 2 / 3 && SIZE / one.n < CHUNK_AVERAGE * 3 / 2,
	   "and near the average");
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		cut(data, SIZE, steps[i], &other);
		ok(other.n == one.n && differ(&one, &other) == 0, "in pieces: the same cuts");
	}
	memset(data, 0, SIZE);
	cut(data, SIZE, 100000, &other);
	good = 0;
	for (size_t i = 0; i + 1 < other.n; i++)
		good += other.len[i] >= CHUNK_MIN && other.len[i] <= CHUNK_MAX;
	is_int((int)good, (int)other.n - 1, "nothing but zeros is cut, too");
	free(data);
}

/* The cuts are part of the format: all that was ever sent is sent again if they move. */
static void fixed(void)
{
	uint8_t *data = malloc(SIZE), all[HASH_BYTES];
	static struct cuts one;
	char text[HASH_TEXT_SIZE];

	fill(data, SIZE, 1);
	cut(data, SIZE, SIZE, &one);
	hash_bytes(one.hash, one.n * HASH_BYTES, all);
	hash_text(all, text);
	is_str(text, "44ea04d858ca472aea10df675cb615962c7f85555a9497d1153aa0e9be8a9be4",
	       "the cuts are where they have always been");
	free(data);
}

static void inserted(void)
{
	uint8_t *data = malloc(SIZE + 1), *with = malloc(SIZE + 1);
	static struct cuts one, other;
	unsigned worst = 0;

	fill(data, SIZE, 2);
	cut(data, SIZE, SIZE, &one);
	for (size_t at = 0; at < SIZE; at += SIZE / 40 + 4321) {
		memcpy(with, data, at);
		with[at] = 'x';
		memcpy(with + at + 1, data + at, SIZE - at);
		cut(with, SIZE + 1, SIZE, &other);
		unsigned n = differ(&one, &other);
		worst = n > worst ? n : worst;
	}
	diag("at worst %u of %zu chunks are new", worst, one.n);
	ok(worst <= 6, "a byte put in makes few chunks new");
	free(data);
	free(with);
}

int main(void)
{
	TAP_RUN(sizes);
	TAP_RUN(fixed);
	TAP_RUN(inserted);
	return tap_done();
}
