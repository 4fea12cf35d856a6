/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exchanges of HTTP kept, so that a run can be given the same answers again. Pure.
 *
 * While a run is recorded the gate appends frames to a file of its starter's, of all connections as
 * they come: struct tape_frame, then `len` bytes.
 *
 *	REQUEST	what was asked for: tape_request()
 *	HEAD	status line and fields of the answer, without what frames its body, without an end
 *	DATA	a piece of its body, without the framing of chunks; secrets are taken out already
 *	TRAILERS	the fields behind the body, as lines
 *	END	struct tape_end: it is whole
 *	UNSEEN	a connection that is not HTTP, or that nobody looked into: "host:port"
 *	FULL	there is no more room; nothing is behind it
 *
 * The starter makes of it one file for each answer, by its digest, and a list. For a replay he
 * gives the gate a tape, in a sealed memfd: struct tape, its entries, then answers as a server
 * sends them. The same question asked again gets the next answer to it.
 */
#ifndef EGRESS_TAPE_H
#define EGRESS_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "egress/secret.h"

#define TAPE_MAGIC 0x70667470u
#define TAPE_BYTES_MAX (UINT64_C(256) << 20)
#define TAPE_ENTRIES_MAX 4096u
#define TAPE_REQUEST_MAX (HTTP_LINE_MAX + 512)

enum tape_kind {
	TAPE_REQUEST = 1,
	TAPE_HEAD,
	TAPE_DATA,
	TAPE_END,
	TAPE_UNSEEN,
	TAPE_FULL,
	TAPE_TRAILERS
};

struct tape_frame {
	uint32_t magic, kind;
	uint64_t exchange, len;
};

struct tape_end {
	uint8_t body[HASH_BYTES]; /* of the request's body */
	uint32_t bare;		  /* the answer has no body, and its head says all */
	uint32_t zero;
};

struct tape_entry {
	uint8_t key[HASH_BYTES];
	uint64_t at, len; /* of the answer, from the tape's beginning */
};

struct tape {
	uint32_t magic, n;
};

/* "GET https://example.org:443 /path?query", with names in the place of placeholders, which differ
 * in each sandbox. `ret` is of TAPE_REQUEST_MAX; bytes in it, or -1: it does not fit. */
int tape_request(const struct http_head *h, const char *scheme, const char *host, uint16_t port,
		 const struct secret_set *secrets, char *ret);
void tape_key(const char *request, size_t len, const uint8_t body[HASH_BYTES],
	      uint8_t ret[HASH_BYTES]);
/* Is the block as it should be? It comes from another process. */
bool tape_is_good(const void *block, size_t len);

#endif
