/* SPDX-License-Identifier: Apache-2.0 */
#include "http/trailer.h"

#include <assert.h>
#include <string.h>

#include "http/chars_int.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

bool http_trailer_next(const char **lines, size_t *left, struct http_field *ret)
{
	const char *end = *left ? memchr(*lines, '\n', *left) : NULL;
	const char *colon = end ? memchr(*lines, ':', (size_t)(end - *lines)) : NULL;

	if (!colon || end[-1] != '\r')
		return false;
	const char *value = colon + 1, *last = end - 1;
	while (value < last && is_blank(*value))
		value++;
	while (last > value && is_blank(last[-1]))
		last--;
	*ret = (struct http_field){
		.name = *lines,
		.value = value,
		.name_len = (uint32_t)(colon - *lines),
		.value_len = (uint32_t)(last - value),
	};
	*left -= (size_t)(end + 1 - *lines);
	*lines = end + 1;
	return true;
}

static bool begins(const struct http_field *f, const char *word)
{
	size_t n = strlen(word);

	return f->name_len > n && chars_same(f->name, n, word);
}

static bool ends(const struct http_field *f, const char *word)
{
	size_t n = strlen(word);

	return f->name_len > n && chars_same(f->name + f->name_len - n, n, word);
}

bool http_trailer_may(const struct http_field *f, enum http_side side)
{
	static const char *const both[] = {"content-md5", "digest", "content-digest",
					   "repr-digest"};
	static const char *const back[] = {"server-timing", "request-id"};
	bool is_response = side == HTTP_RESPONSE;

	for (size_t i = 0; i < sizeof(both) / sizeof(both[0]); i++)
		if (http_field_is(f, both[i]))
			return true;
	for (size_t i = 0; is_response && i < sizeof(back) / sizeof(back[0]); i++)
		if (http_field_is(f, back[i]))
			return true;
	return begins(f, "grpc-") || ends(f, "-bin") || begins(f, "x-amz-checksum-") ||
	       (is_response && begins(f, "x-"));
}
