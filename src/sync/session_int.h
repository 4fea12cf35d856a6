/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What both sides know of the messages' bodies, version 1. Integers are little-endian.
 *
 *	HELLO		4 "PFSY", 2 version, 2 zero, 32 name of the last manifest (zeros: none)
 *	MANIFEST	1 'W' whole or 'D' delta, 8 length of its bytes, 32 name of the manifest
 *			that comes out, 32 name of the one that a delta is against (zeros: whole)
 *	BLOCK		4 length, then that many bytes of it by zstd; as many as it takes
 *	WANT		varint number of runs, for each: varint how many chunks to pass over (at
 *			least 1, but for the first run), varint how many are wanted (at least 1)
 *	PACK		4 number of chunks, 4 length of them all, then those by zstd; in the order
 *			of their numbers
 *	COMMIT		32 name of the manifest
 *	OK		empty
 *	ERROR		1 kind (enum err_kind), 1 is it for want of room (0, 1), text
 *
 * The name of a manifest is the SHA-256 of its bytes, whole.
 */
#ifndef SYNC_SESSION_INT_H
#define SYNC_SESSION_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "sync/buf.h"
#include "sync/stream.h"

#define SESSION_VERSION 1
#define SESSION_BLOCK_RAW (1u << 20)
#define SESSION_HEAD_MAX 256 /* of a message's fixed part */

int session_hello(struct stream *s, const uint8_t last[HASH_BYTES], struct err *e);
int session_expect_hello(struct stream *s, uint8_t ret_last[HASH_BYTES], struct err *e);
bool session_is_none(const uint8_t name[HASH_BYTES]);
uint64_t session_ms(void);

#endif
