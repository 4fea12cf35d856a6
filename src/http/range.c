/* SPDX-License-Identifier: Apache-2.0 */
#include "http/range.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "http/chars_int.h"

/* Positions that do not fit are behind every end; which one does not matter. */
static bool parse_position(const char *p, size_t n, uint64_t *ret)
{
	uint64_t value = 0;

	if (n == 0 || !chars_all(&chars_digit, p, n))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (value > (UINT64_MAX - 9) / 10) {
			value = UINT64_MAX;
			break;
		}
		value = value * 10 + (uint64_t)(p[i] - '0');
	}
	*ret = value;
	return true;
}

static enum http_range last_bytes(uint64_t n, uint64_t size, struct http_part *ret)
{
	if (n == 0 || size == 0)
		return HTTP_RANGE_NONE;
	ret->first = n < size ? size - n : 0;
	ret->last = size - 1;
	return HTTP_RANGE_PART;
}

enum http_range http_range_parse(const char *value, size_t len, uint64_t size,
				 struct http_part *ret)
{
	static const char unit[] = "bytes=";
	const size_t unit_len = sizeof(unit) - 1;
	uint64_t first = 0, last = UINT64_MAX;

	assert(ret);
	if (len < unit_len || !chars_same(value, unit_len, unit))
		return HTTP_RANGE_ALL;
	value += unit_len;
	len -= unit_len;
	chars_trim(&value, &len);
	const char *dash = memchr(value, '-', len);
	size_t n = dash ? (size_t)(dash - value) : len;
	if (!dash)
		return HTTP_RANGE_ALL;
	bool has_last = n + 1 < len;
	if (has_last && !parse_position(dash + 1, len - n - 1, &last))
		return HTTP_RANGE_ALL;
	if (n == 0)
		return has_last ? last_bytes(last, size, ret) : HTTP_RANGE_ALL;
	if (!parse_position(value, n, &first) || first > last)
		return HTTP_RANGE_ALL;
	if (first >= size)
		return HTTP_RANGE_NONE;
	ret->first = first;
	ret->last = last < size ? last : size - 1;
	return HTTP_RANGE_PART;
}

void http_content_range(const struct http_part *part, uint64_t size,
			char ret[HTTP_CONTENT_RANGE_SIZE])
{
	if (part)
		(void)snprintf(ret, HTTP_CONTENT_RANGE_SIZE, "bytes %llu-%llu/%llu",
			       (unsigned long long)part->first, (unsigned long long)part->last,
			       (unsigned long long)size);
	else
		(void)snprintf(ret, HTTP_CONTENT_RANGE_SIZE, "bytes */%llu",
			       (unsigned long long)size);
}

bool http_etag_is(const char *value, size_t len, const char *etag)
{
	return *etag && strlen(etag) == len && memcmp(etag, value, len) == 0;
}

bool http_etag_listed(const char *value, size_t len, const char *etag)
{
	size_t i = 0;

	if (len == 1 && *value == '*')
		return *etag;
	while (i < len) {
		if (strchr(" \t,", value[i])) {
			i++;
			continue;
		}
		if (len - i > 2 && memcmp(value + i, "W/", 2) == 0)
			i += 2;
		const char *end = value[i] == '"' ? memchr(value + i + 1, '"', len - i - 1) : NULL;
		if (!end)
			return false;
		size_t n = (size_t)(end - (value + i)) + 1;
		if (http_etag_is(value + i, n, etag))
			return true;
		i += n;
	}
	return false;
}
