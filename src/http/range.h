/* SPDX-License-Identifier: Apache-2.0 */
/* Range requests of one range, and the validators that go with them. Pure. */
#ifndef HTTP_RANGE_H
#define HTTP_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum http_range {
	HTTP_RANGE_ALL,	 /* 200 and all of it: no bytes, no sense, or more than one range */
	HTTP_RANGE_PART, /* 206 */
	HTTP_RANGE_NONE, /* 416: begins behind the end */
};

struct http_part {
	uint64_t first, last; /* both are sent; last < size */
};

/* What a Range field asks of something that is `size` bytes long. *ret is set for
 * HTTP_RANGE_PART. */
enum http_range http_range_parse(const char *value, size_t len, uint64_t size,
				 struct http_part *ret);

#define HTTP_CONTENT_RANGE_SIZE 72
/* "bytes 0-99/1000"; with part NULL a star in place of the positions, for 416. */
void http_content_range(const struct http_part *part, uint64_t size,
			char ret[HTTP_CONTENT_RANGE_SIZE]);

/* If-Range: is it this one? `etag` is a strong one with its quotes, "" for none: then it is not. A
 * date never is, for we send none. */
bool http_etag_is(const char *value, size_t len, const char *etag);
/* If-None-Match: a list of them, weak ones too, or a star. */
bool http_etag_listed(const char *value, size_t len, const char *etag);

#endif
