/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/2 towards a server, as if it spoke HTTP/1.1: requests come as the gate writes them
 * (gate_http.c), one behind the other, and answers go back as text that the same reader reads as
 * any other server's. So what is judged, filled in and taken out is one thing, whatever is spoken.
 * One stream at a time. No I/O.
 *
 *	gate ── HTTP/1.1 ── h2_up ── frames ── TLS ── server
 *
 * Trailers go both ways (h2_trailer.h). Fields are sent without being remembered by the server
 * (HPACK), since secrets are among them. Bounds: bytes of heads that wait, frames of CONTINUATION,
 * frames that carry nothing; a server that sends faster than its client reads is not read.
 */
#ifndef EGRESS_H2_UP_H
#define EGRESS_H2_UP_H

#include <stdbool.h>

#include "egress/stage.h"

struct h2_up;

struct h2_up *h2_up_new(void); /* NULL: no memory */
void h2_up_free(void *h);

/* Where requests come from and answers go to, in HTTP/1.1; frames from and to the server. */
struct h2_up_io {
	struct stage_buf *asked, *answered, *in, *out;
};
/* Moves what can be moved. False: no more answers will come than are in the buffer, and no more
 * requests are taken. */
bool h2_up_run(struct h2_up *h, const struct h2_up_io *io);
/* Bytes that are on their way within; changes whenever something moves. */
size_t h2_up_held(const struct h2_up *h);
/* All of what came is in the buffer. */
bool h2_up_is_dry(const struct h2_up *h);
/* Nothing is asked that was not answered whole, and it takes another request. */
bool h2_up_is_idle(const struct h2_up *h);

#endif
