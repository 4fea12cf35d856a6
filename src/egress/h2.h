/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/2 towards a client, as if it were many clients of HTTP/1.1: each stream becomes the bytes
 * that such a client would send, for a stage that reads them as all others (gate_http.c), and what
 * that stage answers becomes the stream's answer. So there is one who judges, and one who reads;
 * here nothing is decided but whether it is HTTP/2 at all. No I/O; the only file that sees nghttp2.
 *
 *	client ── frames ── h2 ─┬─ lane ── HTTP/1.1 ── a stage of its own, and its server
 *	                        └─ lane ── …
 *
 * A stream waits for its lane, has one while it lasts, and gives it back; one on which all was
 * whole may be used again. Trailers go both ways (h2_trailer.h). No CONNECT, no push, no h2c.
 *
 * Bounds: streams, bytes of a head (http/head.h), bytes of a body that its lane has not taken yet
 * (a buffer of stage.h, which is the stream's window), frames of CONTINUATION, streams that the
 * client breaks off, frames that carry nothing.
 */
#ifndef EGRESS_H2_H
#define EGRESS_H2_H

#include <stdbool.h>

#include "egress/stage.h"

#define H2_STREAMS_MAX 32u
#define H2_CONTINUATIONS_MAX 8u
#define H2_RESETS_MAX 100u /* more than requests that were answered */
#define H2_IDLE_MAX                                                                                \
	1000u /* frames that carry nothing; 10 more for each request that was answered */

struct h2;

/* Lanes are the client's side of somebody else's stage: from_client and to_client of it. */
struct h2_ops {
	/* One for the next request. NULL: not now; with *ret_never not later either. */
	struct stage_io *(*open)(void *arg, bool *ret_never);
	/* Bytes were put into it, or taken out. */
	void (*moved)(void *arg, struct stage_io *lane);
	/* Its stream is over. Whole: request and answer were, and it takes another. */
	void (*close)(void *arg, struct stage_io *lane, bool is_whole);
};

/* NULL: no memory. `arg` is borrowed. */
struct h2 *h2_new(const struct h2_ops *ops, void *arg);
/* Closes what is open. */
void h2_free(struct h2 *h);

/* As a stage's run(): bytes of the client's in io->from_client, for it in io->to_client. */
enum stage_next h2_run(struct h2 *h, struct stage_io *io);
/* A lane is no more. What its stream has not had is missing. */
void h2_lost(struct h2 *h, struct stage_io *lane);
unsigned h2_streams(const struct h2 *h);

#endif
