/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS (channel.h) on both sides of a stage that reads what is inside (HTTP). No I/O: both sides are
 * buffers of stage.h.
 *
 *	client ── TLS ── [ plain ── inner stage ── plain ] ── TLS ── server
 *
 *	SHAKING		the client says hello; the name in it must be the host
 *	SERVING		what it asks is read by the inner stage, which asks for a server; the
 *			server's handshake is done before a byte of a request is sent there
 *	ENDING		what is left goes to the client
 */
#ifndef EGRESS_INSPECT_H
#define EGRESS_INSPECT_H

#include "egress/channel.h"

/* Who reads what is inside: made when it is known what the client speaks. */
struct inspect_inner {
	struct stage *(*make)(void *arg, bool is_h2); /* NULL: it cannot be */
	void *arg;
	bool takes_h2; /* of the client */
	bool asks_h2;  /* of the server, which may speak HTTP/1.1 all the same */
	struct channel_sessions *sessions; /* of servers at this port; NULL: none are kept */
	uint16_t port;
};

/* All that is given is borrowed and lives longer, but for `inner`, which is copied. `a` NULL: the
 * client's side is in the clear, and in this process. NULL: it cannot be. */
struct stage *inspect_new(struct authority *a, struct channel_roots *roots, const struct name *host,
			  const struct inspect_inner *inner);
/* Why the handshake of either side failed, in constant words; NULL: it did not. */
const char *inspect_why(const struct stage *s);

#endif
