/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why bytes from outside were refused, and with which status a server says so. Not a struct err:
 * it is made for every bad request, so it is two words and needs no formatting. `why` is a constant
 * of the program and never quotes what came in.
 */
#ifndef HTTP_ERROR_H
#define HTTP_ERROR_H

#include <errno.h>
#include <stdint.h>

struct http_error {
	uint16_t status; /* 400, 413, 414, 417, 431, 501, 505; of a response always 502 */
	const char *why;
};

/* Returns the negative value with which every parser here refuses. */
static inline int http_refuse(struct http_error *e, uint16_t status, const char *why)
{
	e->status = status;
	e->why = why;
	return -EBADMSG;
}

#endif
