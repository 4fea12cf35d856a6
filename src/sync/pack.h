/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zstd, for blocks whose size is known before they are opened. Who opens one says how large it must
 * become, to the byte: a block that wants to become anything else is refused, and never takes more
 * room than that. One press for each thread.
 */
#ifndef SYNC_PACK_H
#define SYNC_PACK_H

#include <stddef.h>

#include "base/err.h"
#include "sync/buf.h"

#define PACK_RAW_MAX (4u << 20) /* of one block, before it is pressed */

struct pack;

int pack_new(int level, struct pack **ret, struct err *e);
void pack_free(struct pack **p);
#define auto_pack __attribute__((cleanup(pack_free)))

/* Append `len` bytes to `to`, pressed. */
int pack_press(struct pack *p, const void *data, size_t len, struct buf *to, struct err *e);
/* The `raw_len` bytes that a block must have become. ERR_INVALID: it is another block than that. */
int pack_open(struct pack *p, const void *data, size_t len, void *to, size_t raw_len,
	      struct err *e);

#endif
