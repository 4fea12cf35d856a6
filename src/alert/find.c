/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every byte that a sandbox prints goes through here, so this is written for speed: 128 bytes a
 * turn, by the compiler's vectors, which are the processor's where it has such wide ones.
 */
#include "alert/find.h"

#include <stdbool.h>
#include <stdint.h>

#define WIDTH 32u
#define TURN (4 * WIDTH)

typedef uint8_t bytes __attribute__((vector_size(WIDTH), aligned(1), may_alias));
typedef uint64_t words __attribute__((vector_size(WIDTH)));

static bool is_noted(const unsigned char *p, size_t i, size_t len)
{
	unsigned next = i + 1 < len ? p[i + 1] : 256;

	if (p[i] == 0x1b)
		return true;
	if (p[i] == '<')
		return next == '|' || next == 256;
	return (p[i] | 0x20) == 'u' && (next == 256 || (next | 0x20) == 'c');
}

#define INLINE static inline __attribute__((always_inline))

/* The same for all from p on at once: 0xff where it is. Reads one byte more. */
INLINE void note(const unsigned char *p, bytes *any)
{
	bytes a = *(const bytes *)p, b = *(const bytes *)(p + 1);
	bytes uc = (bytes)((a | 0x20) == 'u') & (bytes)((b | 0x20) == 'c');
	bytes token = (bytes)(a == '<') & (bytes)(b == '|');

	*any |= (bytes)(a == 0x1b) | uc | token;
}

INLINE bool is_any(const bytes *any)
{
	const words *w = (const words *)any;

	return ((*w)[0] | (*w)[1] | (*w)[2] | (*w)[3]) != 0;
}

/* The first of them; little-endian, as all that we run on. */
INLINE size_t first_of(const bytes *any)
{
	const words *w = (const words *)any;
	unsigned k = 0;

	while (!(*w)[k])
		k++;
	return 8 * k + (size_t)__builtin_ctzll((*w)[k]) / 8;
}

/* The first in whole vectors from p on, else how many bytes those are. */
INLINE size_t search(const unsigned char *p, size_t n)
{
	const bytes none = {0};
	size_t at = 0;

	for (; at + TURN < n; at += TURN) {
		bytes any = none;

		note(p + at, &any);
		note(p + at + WIDTH, &any);
		note(p + at + 2 * WIDTH, &any);
		note(p + at + 3 * WIDTH, &any);
		if (is_any(&any))
			break;
	}
	for (; at + WIDTH < n; at += WIDTH) {
		bytes any = none;

		note(p + at, &any);
		if (is_any(&any))
			return at + first_of(&any);
	}
	return at;
}

#ifdef __x86_64__
static __attribute__((target("avx2"))) size_t search_wide(const unsigned char *p, size_t n)
{
	return search(p, n);
}
#endif

static size_t search_plain(const unsigned char *p, size_t n)
{
	return search(p, n);
}

size_t find_noted(const unsigned char *data, size_t from, size_t len)
{
	size_t i = from;

#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		i += search_wide(data + i, len - i);
	else
#endif
		i += search_plain(data + i, len - i);
	while (i < len && !is_noted(data, i, len))
		i++;
	return i;
}
