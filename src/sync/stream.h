/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages on a byte stream. Each has a head of 8 bytes and at most STREAM_MAX bytes of body:
 *
 *	4	length of the body, little-endian
 *	1	type (enum stream_type)
 *	3	zero
 *
 * The peer may be hostile: a head that is no head, a message out of turn and an end in the middle
 * are errors, and nothing it sends is kept beyond one message.
 */
#ifndef SYNC_STREAM_H
#define SYNC_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sync/buf.h"

#define STREAM_MAX (6u << 20)

enum stream_type {
	STREAM_HELLO = 1,
	STREAM_MANIFEST = 2,
	STREAM_BLOCK = 3,
	STREAM_WANT = 4,
	STREAM_PACK = 5,
	STREAM_COMMIT = 6,
	STREAM_OK = 7,
	STREAM_ERROR = 8,
};

struct stream {
	int fd;
	int idle_ms; /* how long the peer may keep us waiting; 0: for ever */
	uint64_t sent;
	uint64_t received;
	struct buf in;
};

void stream_init(struct stream *s, int fd, int idle_ms);
void stream_done(struct stream *s);
#define auto_stream __attribute__((cleanup(stream_done)))

/* A message of two parts, the second of which may be NULL. When the peer has given up, the error is
 * what it said. */
int stream_send(struct stream *s, enum stream_type type, const struct buf *head,
		const struct buf *body, struct err *e);
/* The next message, which must be of that type; an ERROR becomes this side's error. What *ret
 * points to is good until the next call. */
int stream_expect(struct stream *s, enum stream_type type, struct cursor *ret, struct err *e);
/* What the peer has said out of turn so far, which can only be an error. 0: nothing. */
int stream_heard(struct stream *s, struct err *e);
/* Tell the peer why we give up, as far as it listens. */
void stream_give_up(struct stream *s, const struct err *why);

#endif
