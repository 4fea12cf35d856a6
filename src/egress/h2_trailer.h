/* SPDX-License-Identifier: Apache-2.0 */
/* Fields behind a body of HTTP/2, as lines of HTTP/1.1 behind its chunks, and back. */
#ifndef EGRESS_H2_TRAILER_H
#define EGRESS_H2_TRAILER_H

#include "egress/stage.h"
#include "http/body.h"
#include "http/write.h"

struct nghttp2_session;

/* While they come, and until they are passed on. All zero: there are none. */
struct h2_trailers {
	char *room; /* owned */
	struct http_out out;
	unsigned n;
};

/* One more. False: it cannot stand there, or they are too many. */
bool h2_trailers_add(struct h2_trailers *t, const char *name, size_t name_len, const char *value,
		     size_t len);
void h2_trailers_done(struct h2_trailers *t);
/* The last chunk, with them behind it. False: there is no room, or they are no lines. */
bool h2_trailers_put(const struct h2_trailers *t, struct stage_buf *to);

/* At the end of a body, within the callback that gives its last bytes: send what was kept. 1: they
 * end the stream, 0: there are none, < 0: broken. */
int h2_trailers_send(struct nghttp2_session *session, int32_t id, const struct http_body *b,
		     unsigned nv_flags);

#endif
