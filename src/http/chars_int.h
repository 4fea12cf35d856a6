/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of ASCII characters as RFC 9110 and RFC 3986 name them; no locale has a say. */
#ifndef HTTP_CHARS_INT_H
#define HTTP_CHARS_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One bit a character: the first word has NUL to '?', the second '@' to DEL. */
struct char_set {
	uint64_t bits[2];
};

#define CHARS_BIT(c) (UINT64_C(1) << ((c)&63))
#define CHARS_DIGITS UINT64_C(0x03ff000000000000)
#define CHARS_LETTERS UINT64_C(0x07fffffe07fffffe)

extern const struct char_set chars_token; /* of methods and field names */
extern const struct char_set chars_path;  /* of a path, with / and % */
extern const struct char_set chars_query; /* of a query, with % */
extern const struct char_set chars_label; /* of a part of a host's name */
extern const struct char_set chars_digit;

static inline bool chars_has(const struct char_set *set, char c)
{
	unsigned char u = (unsigned char)c;

	return u < 128 && (set->bits[u >> 6] >> (u & 63) & 1);
}

bool chars_all(const struct char_set *set, const char *p, size_t n);
/* 0 to 15, or -1. */
int chars_hex(char c);
/* Is the slice this word, whatever the case of its letters? `word` is in lower case. */
bool chars_same(const char *p, size_t n, const char *word);
/* Two slices, whatever the case of their letters. */
bool chars_equal(const char *a, size_t a_len, const char *b, size_t b_len);
/* Without blanks and tabs at both ends. */
void chars_trim(const char **p, size_t *n);
/* The next element of a list with commas; false at its end. Empty elements are passed over. */
bool chars_element(const char **list, size_t *left, const char **ret, size_t *ret_len);

#endif
