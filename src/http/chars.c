/* SPDX-License-Identifier: Apache-2.0 */
#include "http/chars_int.h"

#include <string.h>

#define UNRESERVED_LOW (CHARS_DIGITS | CHARS_BIT('-') | CHARS_BIT('.'))
#define UNRESERVED_HIGH (CHARS_LETTERS | CHARS_BIT('_') | CHARS_BIT('~'))
#define SUB_DELIMS                                                                                 \
	(CHARS_BIT('!') | CHARS_BIT('$') | CHARS_BIT('&') | CHARS_BIT('\'') | CHARS_BIT('(') |     \
	 CHARS_BIT(')') | CHARS_BIT('*') | CHARS_BIT('+') | CHARS_BIT(',') | CHARS_BIT(';') |      \
	 CHARS_BIT('='))
#define PATH_LOW (UNRESERVED_LOW | SUB_DELIMS | CHARS_BIT(':') | CHARS_BIT('/') | CHARS_BIT('%'))
/* RFC 3986 would have these escaped; browsers and fetch() do not. All readers agree on them, other
 * than on a backslash, which some take for a slash. */
#define UNWISE (CHARS_BIT('[') | CHARS_BIT(']') | CHARS_BIT('^') | CHARS_BIT('|'))

const struct char_set chars_token = {{
	CHARS_DIGITS | CHARS_BIT('!') | CHARS_BIT('#') | CHARS_BIT('$') | CHARS_BIT('%') |
		CHARS_BIT('&') | CHARS_BIT('\'') | CHARS_BIT('*') | CHARS_BIT('+') |
		CHARS_BIT('-') | CHARS_BIT('.'),
	CHARS_LETTERS | CHARS_BIT('^') | CHARS_BIT('_') | CHARS_BIT('`') | CHARS_BIT('|') |
		CHARS_BIT('~'),
}};
const struct char_set chars_path = {{
	PATH_LOW,
	UNRESERVED_HIGH | CHARS_BIT('@') | UNWISE,
}};
const struct char_set chars_query = {{
	PATH_LOW | CHARS_BIT('?'),
	UNRESERVED_HIGH | CHARS_BIT('@') | UNWISE | CHARS_BIT('{') | CHARS_BIT('}') |
		CHARS_BIT('`') | CHARS_BIT('\\'),
}};
/* No host of the DNS has an underscore, but hosts of containers do. */
const struct char_set chars_label = {{
	CHARS_DIGITS | CHARS_BIT('-'),
	CHARS_LETTERS | CHARS_BIT('_'),
}};
const struct char_set chars_digit = {{CHARS_DIGITS, 0}};

bool chars_all(const struct char_set *set, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!chars_has(set, p[i]))
			return false;
	return true;
}

int chars_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool chars_equal(const char *a, size_t a_len, const char *b, size_t b_len)
{
	if (a_len != b_len)
		return false;
	for (size_t i = 0; i < a_len; i++)
		if (lower(a[i]) != lower(b[i]))
			return false;
	return true;
}

bool chars_same(const char *p, size_t n, const char *word)
{
	return chars_equal(p, n, word, strlen(word));
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

void chars_trim(const char **p, size_t *n)
{
	while (*n > 0 && is_blank(**p)) {
		(*p)++;
		(*n)--;
	}
	while (*n > 0 && is_blank((*p)[*n - 1]))
		(*n)--;
}

bool chars_element(const char **list, size_t *left, const char **ret, size_t *ret_len)
{
	while (*left > 0) {
		const char *comma = memchr(*list, ',', *left);
		size_t n = comma ? (size_t)(comma - *list) : *left;

		*ret = *list;
		*ret_len = n;
		*list += comma ? n + 1 : n;
		*left -= comma ? n + 1 : n;
		chars_trim(ret, ret_len);
		if (*ret_len > 0)
			return true;
	}
	return false;
}
