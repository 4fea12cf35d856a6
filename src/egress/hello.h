/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name in a TLS ClientHello, as it arrives: in any pieces, in one record or several. Pure. Call
 * it with all bytes so far until it is decided. Strict: whatever another reader could take
 * differently is refused, and so is a hello that hides its name (ECH) or has none.
 */
#ifndef EGRESS_HELLO_H
#define EGRESS_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/name.h"

#define HELLO_MAX 16384u /* of the message, without heads of records */
#define HELLO_BYTES_MAX                                                                            \
	(HELLO_MAX + 2048u) /* a buffer of this size holds every hello that is taken */
#define HELLO_ALPN_MAX 256u

enum hello_state { HELLO_MORE, HELLO_NAME, HELLO_REFUSED };

struct hello {
	struct name name;  /* HELLO_NAME: kind NAME_DNS */
	const char *why;   /* HELLO_REFUSED: constant words */
	uint8_t alert;	   /* HELLO_REFUSED: the TLS alert that fits, 0 when it is no TLS at all */
	uint16_t alpn_len; /* protocols that the client offers, as sent: length, bytes, … */
	uint8_t alpn[HELLO_ALPN_MAX];
	bool offers_h2, offers_http11;
	bool offers_tls13;
	size_t len; /* HELLO_NAME: bytes of its records; what is behind them is no part of it */
};

enum hello_state hello_parse(const uint8_t *buf, size_t len, struct hello *ret);

/* What a server answers to a hello: it wants another one, in which a client could name somebody else
 * (HelloRetryRequest, or what is no answer that we know), or it does not. Decided at the latest with
 * HELLO_ANSWER_BYTES. */
#define HELLO_ANSWER_BYTES 256u
enum hello_answer { HELLO_ANSWER_MORE, HELLO_ANSWER_RETRY, HELLO_ANSWER_FINAL };
enum hello_answer hello_answer(const uint8_t *buf, size_t len);

/* How many bytes of `buf` may stand in front of a second hello: a change of ciphers for show, early
 * data that the server throws away. Whole records; `ret_more`: one of those is not whole. */
size_t hello_second(const uint8_t *buf, size_t len, bool *ret_more);

/* A fatal alert as a record, for who was refused. Returns its length, 7; 0 for alert 0. */
size_t hello_alert(uint8_t alert, uint8_t ret[7]);

#endif
