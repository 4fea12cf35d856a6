/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What we send: heads, sizes of chunks, events. Pure; everything goes into buffers of the caller.
 *
 *	struct http_out o;
 *
 *	http_out_init(&o, buf, sizeof(buf));
 *	http_out_status(&o, 200);
 *	http_out_field(&o, "Content-Type", "application/json");
 *	int len = http_out_end(&o);
 *
 * A writer remembers the first thing that was wrong and writes no more; who calls looks at the end.
 */
#ifndef HTTP_WRITE_H
#define HTTP_WRITE_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "http/head.h"

struct http_out {
	char *buf; /* borrowed */
	size_t size, len;
	int error;
};

void http_out_init(struct http_out *o, char *buf, size_t size);
/* HTTP/1.1, the status and its usual words. */
void http_out_status(struct http_out *o, unsigned status);
/* A request's first line. `method` is a token, `target` has no blank or control character:
 * -EINVAL. */
void http_out_request(struct http_out *o, const char *method, const char *target,
		      size_t target_len);
/* -EINVAL: the name is no token, or the value holds CR, LF, NUL or another control character than a
 * tab. Blanks at its ends are sent as they are and nobody will see them. */
void http_out_field(struct http_out *o, const char *name, const char *value);
void http_out_field_n(struct http_out *o, const char *name, const char *value, size_t len);
void http_out_field_u64(struct http_out *o, const char *name, uint64_t value);
/* A field as it came in another head. */
void http_out_copy(struct http_out *o, const struct http_field *f);
/* The blank line. Bytes in the buffer; -EINVAL as above; -EMSGSIZE: they do not fit. */
int http_out_end(struct http_out *o);

/* "OK" for 200; of one that is not known what its hundred means. */
const char *http_status_text(unsigned status);

#define HTTP_CHUNK_HEAD_MAX 20
#define HTTP_CHUNK_END "0\r\n\r\n"
/* The line in front of a chunk of n > 0 bytes, without NUL; its length. Behind the chunk: CR LF. */
size_t http_chunk_head(char out[HTTP_CHUNK_HEAD_MAX], size_t n);

#define HTTP_DATE_SIZE 30
/* "Sun, 06 Nov 1994 08:49:37 GMT"; years 1970 to 9999, what is outside becomes the nearest. */
void http_date(time_t when, char ret[HTTP_DATE_SIZE]);

/*
 * One server-sent event, whole or not at all: bytes written, or -EMSGSIZE; -EINVAL when `event` or
 * `id` hold a line's end or NUL. Both may be NULL. Each line of `data` (ended by CR LF, CR or LF,
 * as readers take them) is a line of its own, so readers see LF in their place.
 */
int sse_frame(char *buf, size_t size, const char *event, const char *id, const char *data,
	      size_t len);
/* The most that a frame of `len` bytes takes, beside what event and id are long. */
#define SSE_FRAME_MAX(len) (7 * (size_t)(len) + 32)

#endif
