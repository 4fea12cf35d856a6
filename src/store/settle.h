/* SPDX-License-Identifier: Apache-2.0 */
/* What can wait until nobody waits for it. */
#ifndef STORE_SETTLE_H
#define STORE_SETTLE_H

#include <stdbool.h>

#include "base/err.h"

struct store;

/* Everything that is acknowledged survives a power cut, long stacks are made shorter, what nobody
 * needs is removed. */
int store_settle(struct store *s, int (*merge)(struct store *s, struct err *e), struct err *e);

/* Is there something to settle? A log that has become long is. */
bool store_unsettled(const struct store *s);
/* Only that: what has been acknowledged so far is on disk when this returns. */
int store_sync(struct store *s, struct err *e);

#endif
