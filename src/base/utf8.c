/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

size_t utf8_len(const unsigned char *p, size_t max)
{
	size_t n;
	unsigned char low = 0x80, high = 0xbf;

	if (max == 0)
		return 0;
	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xc2 && p[0] <= 0xdf)
		n = 2;
	else if (p[0] >= 0xe0 && p[0] <= 0xef)
		n = 3;
	else if (p[0] >= 0xf0 && p[0] <= 0xf4)
		n = 4;
	else
		return 0;
	/* The second byte rules out overlong forms, surrogates and what is past U+10FFFF. */
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	if (max < n || p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

bool utf8_valid(const void *data, size_t len)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < len;) {
		size_t n = utf8_len(p + i, len - i);

		if (!n)
			return false;
		i += n;
	}
	return true;
}

size_t utf8_cut_tail(const void *data, size_t len)
{
	const unsigned char *p = data;

	for (size_t back = 1; back <= 3 && back <= len; back++) {
		unsigned char c = p[len - back];
		size_t want = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

		if (c < 0x80)
			return 0;
		if (c >= 0xc0)
			return want > back ? back : 0;
	}
	return 0;
}

size_t utf8_cut_head(const void *data, size_t len)
{
	const unsigned char *p = data;
	size_t n = 0;

	while (n < len && n < 3 && (p[n] & 0xc0) == 0x80)
		n++;
	return n;
}
