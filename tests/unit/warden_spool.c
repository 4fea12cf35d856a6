/* SPDX-License-Identifier: Apache-2.0 */
/* What a command printed: kept in order, from any place, the middle dropped, and never too much of
 * it. */
#include "warden/spool.h"

#include <stdbool.h>

#include "tap.h"

static char data[65536];

/* The byte at a place, and its stream, when both are made up by place. */
static char byte_at(uint64_t place)
{
	return (char)((place * 2654435761u) >> 13);
}

static void keeps_order(void)
{
	struct spool s = {0};
	uint64_t pos = 0;
	unsigned stream = 0;

	is_int((long)spool_get(&s, &pos, &stream, data, 10), 0, "nothing at first");
	is_int((long)spool_all(), 0, "and it costs nothing");
	spool_add(&s, 1, "abc", 3);
	spool_add(&s, 1, "d", 1);
	spool_add(&s, 2, "ef", 2);
	spool_add(&s, 1, "", 0);
	spool_add(&s, 2, "g", 1);
	is_int((long)spool_get(&s, &pos, &stream, data, 10), 4, "the first stretch, in one piece");
	ok(stream == 1 && pos == 0 && memcmp(data, "abcd", 4) == 0, "as it was");
	pos = 4;
	is_int((long)spool_get(&s, &pos, &stream, data, 10), 3, "the second");
	ok(stream == 2 && memcmp(data, "efg", 3) == 0, "of the other stream");
	pos = 2;
	is_int((long)spool_get(&s, &pos, &stream, data, 1), 1, "one byte from the middle");
	ok(stream == 1 && data[0] == 'c', "the right one");
	pos = 7;
	is_int((long)spool_get(&s, &pos, &stream, data, 10), 0, "no more");
	pos = UINT64_MAX;
	is_int((long)spool_get(&s, &pos, &stream, data, 10), 0, "nor far beyond");
	ok(spool_from(&s) == 0 && s.total == 7, "nothing is lost");
	spool_done(&s);
	is_int((long)spool_all(), 0, "and all is given back");
}

/* Read all of it from `pos`, in pieces of `piece`; false when a byte is not what it was. */
static bool reads_right(const struct spool *s, uint64_t pos, size_t piece, uint64_t *ret_bytes)
{
	unsigned stream = 0;
	size_t n;

	*ret_bytes = 0;
	while ((n = spool_get(s, &pos, &stream, data, piece)) > 0) {
		for (size_t i = 0; i < n; i++)
			if (data[i] != byte_at(pos + i))
				return false;
		*ret_bytes += n;
		pos += n;
	}
	return pos == s->total;
}

static void print_up_to(struct spool *s, uint64_t total, size_t piece)
{
	static char text[200000];

	while (s->total < total) {
		size_t n = total - s->total < piece ? (size_t)(total - s->total) : piece;

		for (size_t i = 0; i < n; i++)
			text[i] = byte_at(s->total + i);
		spool_add(s, 1 + (unsigned)(s->total / 1000 % 2), text, n);
	}
}

static void head_and_tail(void)
{
	static const size_t pieces[] = {1, 7, 4096, 65536, 200000};
	struct spool s = {0};
	uint64_t bytes = 0, total = 0;
	bool right = true;

	for (unsigned i = 0; i < 60; i++) {
		total += 1 + i * i * 320;
		print_up_to(&s, total, pieces[i % 5]);
		right = right && reads_right(&s, 0, 1 + i * 997, &bytes);
	}
	ok(total > 2 * SPOOL_MAX, "more than it may hold");
	ok(right, "what is there is right, at any time");
	ok(bytes >= SPOOL_MAX && bytes <= SPOOL_HEAD + SPOOL_MAX, "no more than it may hold");
	ok(bytes == SPOOL_HEAD + s.total - spool_from(&s), "the head, and all from there on");
	for (uint64_t at = 0; at < total && right; at += 131071)
		right = reads_right(&s, at, 65536, &bytes);
	ok(right, "from any place");
	is_int((long)(spool_all() <= SPOOL_HEAD + SPOOL_MAX + (1 << 20)), 1, "in not much more");
	spool_done(&s);
}

/* Who changes streams with every byte has as much memory as others, and so fewer bytes. */
static void many_runs(void)
{
	struct spool s = {0};
	uint64_t pos = 0, seen = 0;
	unsigned stream = 0;
	bool right = true;

	for (uint64_t i = 0; i < 1000000; i++) {
		char c = byte_at(i);

		spool_add(&s, 1 + (unsigned)(i & 1), &c, 1);
	}
	while (spool_get(&s, &pos, &stream, data, sizeof(data)) == 1) {
		right = right && data[0] == byte_at(pos) && stream == 1 + (pos & 1);
		pos++;
		seen++;
	}
	ok(right, "each byte has its stream");
	ok(pos == s.total && s.total == 1000000, "to the last");
	ok(seen > 50000 && seen < 100000, "some of them");
	ok(spool_all() < SPOOL_MAX, "and it has no more memory than others");
	spool_done(&s);
}

#define MANY 200

/* One that prints much does not keep others from having some. */
static void all_together(void)
{
	static struct spool s[MANY];
	uint64_t bytes = 0, least = UINT64_MAX;
	bool right = true, bounded = true;

	for (int i = 0; i < MANY; i++) {
		print_up_to(&s[i], i < 20 ? 9u << 20 : 3u << 20, 65536);
		bounded = bounded && spool_all() <= SPOOL_ALL_MAX + (1u << 20);
	}
	ok(bounded, "all together never have more than they may");
	for (int i = 0; i < MANY; i++) {
		right = right && reads_right(&s[i], 0, 65536, &bytes);
		least = bytes < least ? bytes : least;
	}
	ok(right, "each is right, also what had to give");
	ok(least >= 256 << 10, "the last one has a fair part");
	for (int i = 0; i < MANY; i += 2)
		spool_done(&s[i]);
	for (int i = 1; i < MANY; i += 2)
		spool_done(&s[i]);
	is_int((long)spool_all(), 0, "all is given back");
}

int main(void)
{
	TAP_RUN(keeps_order);
	TAP_RUN(head_and_tail);
	TAP_RUN(many_runs);
	TAP_RUN(all_together);
	return tap_done();
}
