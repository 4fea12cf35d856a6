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

/* Of a request: a server that takes a trailer for a field of the head must learn nothing that
 * decides. */
static bool may_request(const struct http_field *f)
{
	static const char *const known[] = {"content-md5", "digest", "content-digest",
					    "repr-digest"};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (http_field_is(f, known[i]))
			return true;
	return begins(f, "grpc-") || ends(f, "-bin") || begins(f, "x-amz-checksum-");
}

/*
 * Of an answer: a server could have said it in the head, where all but framing passes. So it may
 * call what it says behind the body as it likes, as gRPC does, but for what a client that takes it
 * for a field of the head would frame, read, go to, keep or believe by.
 */
static bool may_response(const struct http_field *f)
{
	static const char *const never[] = {
		"accept-ranges",
		"age",
		"alt-svc",
		"authentication-info",
		"authorization",
		"cache-control",
		"clear-site-data",
		"connection",
		"content-encoding",
		"content-language",
		"content-length",
		"content-location",
		"content-range",
		"content-security-policy",
		"content-type",
		"cookie",
		"date",
		"expect",
		"expires",
		"forwarded",
		"host",
		"http2-settings",
		"keep-alive",
		"link",
		"location",
		"max-forwards",
		"pragma",
		"range",
		"refresh",
		"retry-after",
		"set-cookie",
		"set-cookie2",
		"strict-transport-security",
		"te",
		"trailer",
		"transfer-encoding",
		"upgrade",
		"vary",
		"via",
		"warning",
		"www-authenticate",
	};
	static const char *const families[] = {"access-control-", "if-", "proxy-", "sec-"};

	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		if (http_field_reads_as(f, never[i]))
			return false;
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (begins(f, families[i]))
			return false;
	return f->name_len > 0;
}

bool http_trailer_may(const struct http_field *f, enum http_side side)
{
	return side == HTTP_RESPONSE ? may_response(f) : may_request(f);
}
