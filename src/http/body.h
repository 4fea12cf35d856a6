/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body behind a head: a length, chunks, or all that comes until the end of the connection.
 * Pure, without heap and without copying: payload is given as slices of what was fed.
 *
 *	for (;;) {
 *		r = http_body_feed(&b, in, n, &used, &data, &len, &e);
 *		if (r < 0) answer e.status and close
 *		take data, len; in += used; n -= used
 *		if (r > 0) it is whole, in is at the next message
 *		if (n == 0) read more
 *	}
 *
 * Chunks are read as strictly as heads: a size is one to sixteen hexadecimal digits, lines end with
 * CR LF, extensions and trailers are well-formed and small. Extensions are dropped, and so are
 * trailers, unless somebody gives room for them: who passes them on says which (http/trailer.h).
 */
#ifndef HTTP_BODY_H
#define HTTP_BODY_H

#include "http/head.h"

#define HTTP_CHUNK_EXTENSIONS_MAX 4096 /* bytes, of all chunks of a body together */
#define HTTP_TRAILERS_MAX 8192	       /* bytes */
#define HTTP_TRAILER_FIELDS_MAX 32
#define HTTP_TRAILERS_ROOM (HTTP_TRAILERS_MAX + HTTP_TRAILER_FIELDS_MAX) /* with each line's LF */

enum http_body_kind { HTTP_BODY_NONE, HTTP_BODY_LENGTH, HTTP_BODY_CHUNKED, HTTP_BODY_TO_END };

/*
 * States of a chunked body: SIZE -> [EXTENSION] -> SIZE_LF -> DATA -> DATA_CR -> DATA_LF -> SIZE;
 * the chunk of size 0 goes from SIZE_LF to LINE -> NAME -> VALUE -> VALUE_LF -> LINE (a trailer) or
 * LINE -> LAST_LF -> DONE. The other kinds know DATA and DONE.
 */
enum http_body_state {
	HTTP_BODY_SIZE,
	HTTP_BODY_EXTENSION,
	HTTP_BODY_SIZE_LF,
	HTTP_BODY_DATA,
	HTTP_BODY_DATA_CR,
	HTTP_BODY_DATA_LF,
	HTTP_BODY_LINE,
	HTTP_BODY_NAME,
	HTTP_BODY_VALUE,
	HTTP_BODY_VALUE_LF,
	HTTP_BODY_LAST_LF,
	HTTP_BODY_DONE,
	HTTP_BODY_BROKEN,
};

struct http_body {
	enum http_body_kind kind;
	enum http_body_state state;
	uint64_t left;	/* of the chunk, or of all */
	uint64_t bytes; /* of payload so far */
	uint64_t bytes_max;
	unsigned digits;	    /* of the size that is being read */
	unsigned n_extension_bytes; /* of all chunks so far */
	unsigned n_trailer_bytes;
	unsigned n_trailers;
	uint16_t status; /* with which it refuses what is wrong, 400 or 502 */
	char *kept;	 /* borrowed, of HTTP_TRAILERS_ROOM: trailers, as lines; NULL: dropped */
	size_t kept_len;
};

/* Of a request. Refused with 413 when it announces more than `bytes_max`; chunks are when they come
 * to more. */
int http_body_of_request(struct http_body *b, const struct http_head *h, uint64_t bytes_max,
			 struct http_error *e);
/* Of a response to a request with that method: HEAD, CONNECT and some statuses have none. */
int http_body_of_response(struct http_body *b, const struct http_head *h, enum http_method asked,
			  uint64_t bytes_max, struct http_error *e);

/*
 * Take from `in` framing and at most one slice of payload: *ret_used bytes are done with, *ret_len
 * of them at *ret_data are payload (0: none this time). 1: the body is whole and the slice, if any,
 * its last. 0: feed what is behind the used bytes. < 0: refused. Progress is made whenever n > 0.
 * With n == 0 it tells whether the body is whole, as one without bytes is from the start.
 */
int http_body_feed(struct http_body *b, const char *in, size_t n, size_t *ret_used,
		   const char **ret_data, size_t *ret_len, struct http_error *e);
/* The connection ended. 0: so did the body. */
int http_body_eof(const struct http_body *b, struct http_error *e);

#endif
