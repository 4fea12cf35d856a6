/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of one thing that goes on, numbered from 1: written by whoever does it, on any thread,
 * read by any number of followers in the loop's thread, each at its own pace. The newest
 * FEED_BYTES_MAX are kept; a follower who is slower hears how many he missed, and slows nobody.
 */
#ifndef API_FEED_H
#define API_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/loop.h"

#define FEED_BYTES_MAX (1u << 20)

struct feed;

struct follower {
	uint64_t seen;			  /* number of the last event that was taken */
	void (*more)(struct follower *f); /* in the loop's thread: there is something to take */
	struct follower *next;
};

struct feed_event {
	uint64_t number;
	const char *id;	 /* what the client is told and comes back with; "": the number */
	uint64_t missed; /* events between the last and this one that are not kept */
	const char *name;
	const char *data; /* one line of JSON; `id` stands behind it, and goes with it */
	size_t len;
};

struct feed *feed_new(struct loop *l); /* one reference; NULL: no memory */
struct feed *feed_ref(struct feed *f);
void feed_unref(struct feed *f); /* any thread */

/* Any thread. `data` is copied; `name` is not. */
void feed_add(struct feed *f, const char *name, const char *data, size_t len);
/* The same with an id of its own, for what can be found again by more than this feed. */
void feed_add_id(struct feed *f, const char *name, const char *data, size_t len, const char *id);
/* Events that no follower has taken yet. Any thread. */
uint64_t feed_ahead(struct feed *f);
/* No more will come. */
void feed_close(struct feed *f);

/* The loop's thread. */
void feed_follow(struct feed *f, struct follower *who);
void feed_leave(struct feed *f, struct follower *who);
/* The next event for him; malloced data that he frees. 1, 0: none now, -1: none any more. */
int feed_take(struct feed *f, struct follower *who, struct feed_event *ret, char **ret_data);

#endif
