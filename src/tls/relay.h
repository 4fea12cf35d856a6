/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections: TLS on one side, a stream socket to the API on the other.
 *
 *	SHAKING -> OPEN		the handshake is done; the API has its end of a pair
 *	OPEN -> CLOSING		the API has said all; what it said goes out, the rest is dropped
 *	any -> gone		either side failed, or took too long
 *
 * One thread. A side that does not take what the other sends stops it: each direction holds one
 * buffer, and nothing is read while it is full. How long a client may idle or take for a request is
 * the API's affair, which closes its end; here only handshakes and last words are timed.
 */
#ifndef TLS_RELAY_H
#define TLS_RELAY_H

#include <stdbool.h>

#include "base/err.h"

struct tls_server;
struct relay;

int relay_new(int door, const int *listeners, unsigned n_listeners, struct relay **ret,
	      struct err *e);
/* For connections from now on; taken. */
void relay_serve(struct relay *r, struct tls_server *s);
/* More to wait for: `ready` is called when `fd` can be read. At most two. */
int relay_watch(struct relay *r, int fd, void (*ready)(struct relay *r, int fd), struct err *e);
/* No new connection; relay_run() returns when the last is gone. */
void relay_drain(struct relay *r);
int relay_run(struct relay *r, struct err *e);

#endif
