/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stage: what stands between a client and its server where bytes are not just passed through. It
 * sees bytes of both sides in buffers and puts out bytes for both; the gate reads and writes the
 * sockets, finds the server when the stage wants one, and keeps time and sizes. A stage does no
 * I/O, so it can be tested without any, and stages can be put into one another: TLS around HTTP.
 */
#ifndef EGRESS_STAGE_H
#define EGRESS_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STAGE_BUF_MAX (64u << 10)

/* Bytes between two who are not equally fast. `data` is owned and of STAGE_BUF_MAX bytes, or NULL
 * while there are none. */
struct stage_buf {
	char *data;
	size_t start, len;
};

struct stage_io {
	struct stage_buf from_client, to_client, from_server, to_server;
	bool client_ended, server_ended; /* no more will come than is in the buffer */
	bool server_open;		 /* to_server is taken */
	bool server_cut; /* it ended without the word that TLS has for it: bytes may be missing */
};

enum stage_next {
	STAGE_ON,     /* call again when there are more bytes, or more room */
	STAGE_SERVER, /* the same, and a server is wanted */
	STAGE_OTHER,  /* the same, and not the one that there is: let go of it first */
	STAGE_END,    /* send what there is to both sides, and close */
	STAGE_ABORT,  /* close at once */
	STAGE_WAIT,   /* only within a stage: for something that is no byte */
};

struct channel;
struct stage;
struct stage_ops {
	/* Do as much as can be done. Called again until nothing moves. */
	enum stage_next (*run)(struct stage *s, struct stage_io *io);
	/* The server that was wanted is not to be had; `why` is for people, constant. */
	enum stage_next (*no_server)(struct stage *s, struct stage_io *io, const char *why);
	void (*free)(struct stage *s);
	/* Let go of the server; it is not there afterwards. True: whatever was asked of it was
	 * answered whole, it has said nothing more, and it takes another request. *ret is its TLS,
	 * owned by the caller in any case; NULL: it is in the clear. No such function: there is no
	 * server. */
	bool (*part)(struct stage *s, struct stage_io *io, struct channel **ret);
	/* The server that was wanted is one that another has parted from. */
	void (*meet)(struct stage *s, struct stage_io *io, struct channel *taken);
};

struct stage {
	const struct stage_ops *ops;
};

/* Buffers. room: bytes that fit, at `*ret`; 0: full, or no memory. */
size_t stage_room(struct stage_buf *b, char **ret);
void stage_added(struct stage_buf *b, size_t n);
/* All of it or none: 0 or -ENOSPC. */
int stage_put(struct stage_buf *b, const void *data, size_t n);
/* The last chunk of a body with these lines behind it, whole or not at all: -ENOSPC. */
int stage_put_end(struct stage_buf *b, const char *trailers, size_t n);
void stage_took(struct stage_buf *b, size_t n);
void stage_buf_done(struct stage_buf *b);

#endif
