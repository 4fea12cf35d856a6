/* SPDX-License-Identifier: Apache-2.0 */
/* What can wait until nobody waits for it. */
#ifndef STORE_SETTLE_H
#define STORE_SETTLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct store;

/* Everything that is acknowledged survives a power cut, long stacks are made shorter, what nobody
 * needs is removed. */
int store_settle(struct store *s, int (*merge)(struct store *s, struct err *e), struct err *e);

/* Is there something to settle? A log that has become long is. */
bool store_unsettled(const struct store *s);
/* Before a commit that is durable, and so takes all that were before it to disk: first the files,
 * then the rows that name them. *ret_last is the last row of snap of which that is so. Nothing is
 * done, and others who write much to that disk are not waited for, where no command ended since the
 * last time (0; else 1). */
int store_sync_layers(struct store *s, int64_t *ret_last, struct err *e);
/* Only that: what has been acknowledged so far is on disk when this returns. */
int store_sync(struct store *s, struct err *e);
/* And all rows, whatever they are about. */
int store_write_out(struct store *s, struct err *e);

#endif
