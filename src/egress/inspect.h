/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS on both sides of a stage that reads what is inside (HTTP). Towards the client it is the host,
 * by a certificate of the sandbox's authority; towards the server it is a client that believes
 * nothing: the certificate must be valid, for the host's name, and lead to a root that the starter
 * gave. No I/O: both sides are buffers of stage.h.
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

#include "base/err.h"
#include "egress/authority.h"
#include "egress/name.h"
#include "egress/stage.h"

/* What the gate trusts, and how it speaks TLS; one for many connections. */
struct inspect_roots;

/* From PEM text: certificates one behind the other; at least one. */
int inspect_roots_new(const char *pem, size_t len, struct inspect_roots **ret, struct err *e);
void inspect_roots_free(struct inspect_roots *r);

/* `inner` is taken, also when it fails (NULL); the others are borrowed and live longer. */
struct stage *inspect_new(struct authority *a, struct inspect_roots *roots, const struct name *host,
			  struct stage *inner);
/* Why the handshake of either side failed, in constant words; NULL: it did not. */
const char *inspect_why(const struct stage *s);

#endif
