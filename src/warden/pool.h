/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandboxes that wait ready-made: which kinds, how many, when they are made, and which one a
 * request may have. One that waits is used once.
 */
#ifndef WARDEN_POOL_H
#define WARDEN_POOL_H

#include "warden/ward_int.h"

void pool_init(struct warden *w);
void pool_done(struct warden *w);

/* Make one; it becomes READY by itself. */
int pool_make(struct warden *w, enum ward_kind kind, struct err *e);
/* It waits from now on. */
void pool_ready(struct warden *w, struct ward *ward);
/* It does not wait any more, if it did. */
void pool_forget(struct warden *w, struct ward *ward);
/* One that waits and that the request can be given to; NULL: none. */
struct ward *pool_choose(struct warden *w, const struct ask *ask);
/* Can one that was made beforehand be given to it, but for its packages? */
bool pool_fits(const struct ask *ask);
/* What every one that waits is made with. */
void pool_spec(struct sandbox_spec *spec);
/* Bytes that one holds. */
uint64_t pool_measure(const struct ward *ward);
/* Give it to the request. The descriptors are borrowed. */
int pool_claim(struct warden *w, struct ward *ward, const struct ask *ask, struct err *e);
/* And give it what it was claimed for; nothing where it was not. */
int pool_begin(struct ward *ward, const int stdio[3], struct err *e);

/* How long the loop may wait for events before pool_refill() is called; -1: for ever. */
int pool_patience_ms(const struct warden *w);
/* Nothing else is to do: make the one that is wanted most, or end one that is too many. */
void pool_refill(struct warden *w);
/* One that was to wait could not be made. */
void pool_failed(struct warden *w, const char *why);
/* Every DEMAND_FADE_S seconds. */
void pool_tick(struct warden *w);
/* The kernel says that the host is short of memory. */
void pool_stalled(struct warden *w, const struct source *source);

#endif
