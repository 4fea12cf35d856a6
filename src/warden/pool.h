/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandboxes that wait ready-made: which kinds, how many, when they are made, and which one a request
 * may have. One that waits is used once.
 */
#ifndef WARDEN_POOL_H
#define WARDEN_POOL_H

#include "warden/ward_int.h"

/* Make one; it becomes READY by itself. */
int pool_make(struct warden *w, enum ward_kind kind, struct err *e);
/* One that waits and that the request can be given to; NULL: none. */
struct ward *pool_choose(const struct warden *w, const struct ask *ask);
/* Give it to the request. The descriptors are borrowed. */
int pool_claim(struct warden *w, struct ward *ward, const struct ask *ask, const int stdio[3],
	       struct err *e);

/* How long the loop may wait for events before pool_refill() is called; -1: for ever. */
int pool_patience_ms(const struct warden *w);
/* Nothing else is to do: make the one that is wanted most. */
void pool_refill(struct warden *w);
/* One that was to wait could not be made, or could be again. */
void pool_failed(struct warden *w, const char *why);
void pool_succeeded(struct warden *w);

#endif
