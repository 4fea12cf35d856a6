/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS over the buffers of a stage, either end of it. Towards a client it is the host, by a
 * certificate of the sandbox's authority; towards a server it is a client that believes nothing:
 * the certificate must be valid, for the host's name, and lead to a root that the starter gave. No
 * I/O, and the only file of the gate that sees OpenSSL's ssl.h.
 */
#ifndef EGRESS_CHANNEL_H
#define EGRESS_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "egress/authority.h"
#include "egress/name.h"
#include "egress/stage.h"

/* What the gate trusts, and how it speaks TLS; one for many channels. */
struct channel_roots;
struct channel;
/* What servers gave to be known again by, so that the next handshake is short. Of one sandbox:
 * whoever holds it would be taken for that one. */
struct channel_sessions;

/* From PEM text: certificates one behind the other; at least one. */
int channel_roots_new(const char *pem, size_t len, struct channel_roots **ret, struct err *e);
void channel_roots_free(struct channel_roots *r);
/* NULL: no memory. */
struct channel_sessions *channel_sessions_new(void);
void channel_sessions_free(struct channel_sessions *s);

/* The host's end, for a client: the name in its hello must be the host's. `takes_h2`: HTTP/2 is
 * taken before HTTP/1.1 where it is offered. NULL: it cannot be. What is given is borrowed and
 * lives longer. */
struct channel *channel_accept(struct channel_roots *roots, struct authority *a,
			       const struct name *host, bool takes_h2);
/* The client's end, for a server, and what is offered to it. The same holds. */
enum channel_offer { CHANNEL_NOTHING, CHANNEL_HTTP1, CHANNEL_HTTP2 }; /* 2: and 1.1 */
struct channel *channel_connect(struct channel_roots *roots, const struct name *host,
				enum channel_offer offer);
/* What belongs to it goes where it goes, and is freed with it. It has one at most. */
void channel_carry(struct channel *c, void *what, void (*free_it)(void *what));
void *channel_carried(const struct channel *c); /* NULL: nothing */
/* Of a server, before its handshake: use what it gave, and keep what it will give; `s` is borrowed.
 * A server that knows us again shows no certificate, so only one that was valid for this very name,
 * at this port, and still is, is remembered. TLS 1.3 alone, whose keys are new each time. */
void channel_resume(struct channel *c, struct channel_sessions *s, uint16_t port);
/* The same name, of somebody who lives longer. */
void channel_move(struct channel *c, const struct name *host);
void channel_free(struct channel *c);

/* Where its bytes are, in TLS; before any of the calls below. */
void channel_bind(struct channel *c, struct stage_buf *in, struct stage_buf *out,
		  const bool *ended);

/* 1: done. 0: it needs more bytes. -1: failed. */
int channel_shake(struct channel *c);
/* Once that is done: HTTP/2 is what both speak. */
bool channel_is_h2(const struct channel *c);
/* Of a server: it has shown a valid certificate, and that it holds its key. One that wants a
 * certificate of ours, too, has done so although the handshake fails. */
bool channel_is_proven(const struct channel *c);
/* Nothing of it is on its way to us, as far as is known, and neither side has ended it. */
bool channel_is_quiet(const struct channel *c);
/* It was known again. */
bool channel_is_resumed(const struct channel *c);
/* Why the handshake failed, in constant words. */
const char *channel_why(const struct channel *c);

/* Plaintext from the other side. Returns bytes; *ret_ended: it said that it sends no more;
 * *ret_cut: it ended without saying so. */
size_t channel_take(struct channel *c, struct stage_buf *to, bool *ret_ended, bool *ret_cut);
/* Plaintext to the other side. Bytes, or -1. */
ssize_t channel_give(struct channel *c, struct stage_buf *from);
/* Says that no more will come. */
void channel_end(struct channel *c);

#endif
