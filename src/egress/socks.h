/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SOCKS5 (RFC 1928) as a server: greeting without authentication, CONNECT by name or address. Pure.
 * Parsers take all bytes so far and say how many belong to the message: > 0; 0: more is needed;
 * < 0: refused, answer and close.
 */
#ifndef EGRESS_SOCKS_H
#define EGRESS_SOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "egress/name.h"

#define SOCKS_GREETING_MAX 257u
#define SOCKS_REQUEST_MAX 262u
#define SOCKS_REPLY_SIZE 10u

enum socks_reply {
	SOCKS_OK = 0,
	SOCKS_FAILURE = 1,
	SOCKS_DENIED = 2,
	SOCKS_NET_UNREACHABLE = 3,
	SOCKS_HOST_UNREACHABLE = 4,
	SOCKS_CONN_REFUSED = 5,
	SOCKS_BAD_COMMAND = 7,
	SOCKS_BAD_ADDRESS = 8,
};

struct socks_request {
	struct name host;
	uint16_t port;
	enum socks_reply reply; /* when it is refused: what to answer; SOCKS_OK: nothing */
	const char *why;
};

/* Is this the first byte of SOCKS5? HTTP begins with a letter. */
static inline int socks_is(uint8_t first)
{
	return first == 5;
}

/* ret: the answer, two bytes, to be sent when it is not 0 (also before closing). */
int socks_greeting(const uint8_t *buf, size_t len, uint8_t ret[2]);
int socks_request(const uint8_t *buf, size_t len, struct socks_request *ret);
void socks_answer(enum socks_reply reply, uint8_t ret[SOCKS_REPLY_SIZE]);

#endif
