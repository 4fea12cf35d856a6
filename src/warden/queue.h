/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may run now. --max runs at once; who comes then waits with his descriptors, at most --queue
 * of them and half a minute, and is told to come again after that. Nothing is made for one that
 * waits.
 *
 * Fair between tenants, who are the uids that the kernel says are asking, and those for whom HTTP
 * asks:
 * - a place that comes free goes to the one with the fewest runs, in turn among equals;
 * - the last place is not given to who has all the others, if somebody else asked within a minute;
 * - in a full queue a newcomer takes the place of the last of whoever has most waiting there.
 *
 * What waits is dropped when its caller hangs up, and answered when the daemon ends.
 */
#ifndef WARDEN_QUEUE_H
#define WARDEN_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "warden/overload.h"

struct link_ask;
struct queued;
struct ucred;
struct source;
struct tenant;
struct ward;
struct warden;

struct queue {
	struct tenant *first, *last; /* who runs or waits; the first is next, among equals */
	unsigned n;
	uint64_t bytes;	    /* of the requests that wait */
	uint64_t gap_us;    /* between two that were served, smoothed */
	uint64_t served_us; /* the last one */
	uint64_t asked;	    /* whose the last one was */
	uint64_t other_us;  /* when that was not the one before; 0: never */
	struct overload overload;
};

void queue_init(struct warden *w);
/* A request for a sandbox (LINK_RUN or LINK_CREATE): the connection and what came with it. It
 * waits, if only for queue_serve(); descriptors that are kept are FD_NONE then. */
int queue_take(struct warden *w, const struct link_ask *ask, const struct ucred *who, int *fds,
	       struct err *e);
/* One of those that wait can be run now. */
bool queue_can_serve(const struct warden *w);
/* Run it, if so. */
void queue_serve(struct warden *w);
/* In every turn of the loop, and after so long at most (-1: whenever): is it an overload, or still
 * one, and who has waited too long in it? */
void queue_tend(struct warden *w);
int queue_patience_ms(const struct warden *w);
/* The caller of one that waits said something, or is gone. */
void queue_event(struct warden *w, const struct source *source);
/* Refuse who has waited too long. */
void queue_expire(struct warden *w);
/* The daemon ends: tell everybody, also those whom front has just handed over. */
void queue_end(struct warden *w);
/* Say that the daemon ends. */
void queue_ending(struct err *e);

/* A run of this tenant (struct ask, whose) begins, or this one has ended. */
void queue_began(struct warden *w, struct ward *ward, uint64_t whose);
void queue_ended(struct warden *w, struct ward *ward);

#endif
