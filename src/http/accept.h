/* SPDX-License-Identifier: Apache-2.0 */
/* What a client takes: Accept and Accept-Encoding. Pure; elements that make no sense are passed
 * over. */
#ifndef HTTP_ACCEPT_H
#define HTTP_ACCEPT_H

#include <stdbool.h>
#include <stddef.h>

#include "http/coding.h"
#include "http/head.h"

/* The coding that the client likes best of those that it names or that its `*` stands for; of
 * equals zstd, then gzip. Without the field: identity. One with q=0 is never taken. */
enum http_coding http_accept_coding(const struct http_head *h);
/* "gzip", "zstd", "identity" */
const char *http_coding_name(enum http_coding coding);

/* Does it take `type` ("text/event-stream", in lower case), by name, by `text` with a star, or by
 * both stars? The most exact element decides, and q=0 is a no. Without the field: everything. */
bool http_accepts(const struct http_head *h, const char *type);
/* The same, but by name alone. */
bool http_accepts_by_name(const struct http_head *h, const char *type);

/* Is the Content-Type this one (in lower case), whatever its parameters? */
bool http_content_is(const struct http_head *h, const char *type);

#endif
