/* SPDX-License-Identifier: Apache-2.0 */
#include "archive/about.h"

#include <string.h>

#include "base/utf8.h"

static bool is_good(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false;
	return utf8_valid(text, len);
}

void about_add(struct about *a, char what, const char *text)
{
	size_t n = strlen(text);

	if (n + 2 > sizeof(a->text) - a->len || !is_good(text, n))
		return;
	a->text[a->len++] = what;
	memcpy(a->text + a->len, text, n + 1);
	a->len += n + 1;
}

bool about_next(const struct about *a, size_t *at, char *ret_what, const char **ret_text)
{
	while (*at < a->len) {
		const char *start = a->text + *at;
		size_t n = strnlen(start, a->len - *at);

		if (n == a->len - *at)
			return false; /* without an end */
		*at += n + 1;
		if (n == 0 || !is_good(start + 1, n - 1))
			continue;
		*ret_what = start[0];
		*ret_text = start + 1;
		return true;
	}
	return false;
}
