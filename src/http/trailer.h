/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields behind a body. Who reads them may put them beside those of the head, behind the back of
 * whoever judged that one: so of requests only those pass that say something of the body or of how
 * it went, by a list of names; of responses what decides nothing. Pure.
 */
#ifndef HTTP_TRAILER_H
#define HTTP_TRAILER_H

#include "http/head.h"

/* The next field of lines as http_body keeps them; they moved on. False: there is none. */
bool http_trailer_next(const char **lines, size_t *left, struct http_field *ret);

/* May it go on? Of a request what gRPC says and what proves the body (grpc-*, *-bin, digests); of a
 * response any name but those that frame, route, name somebody, are kept or say how to read the
 * body. */
bool http_trailer_may(const struct http_field *f, enum http_side side);

#endif
