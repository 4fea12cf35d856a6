/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many sandboxes of a kind should wait. Arithmetic only: who measures and who makes is pool.c.
 *
 * What a pool has to have is as many as are wanted before the first that was taken can be replaced.
 * So: the most that were wanted within one window, a window being the time that making one takes
 * (and no less than a tenth of a second: an agent's calls of one turn do not come at the same
 * instant). That number rises at once and fades by an eighth every DEMAND_FADE_S seconds, to its
 * half in some ten: what comes again within a minute still finds some of it, and a pool that nobody
 * asks is soon back at its floor.
 */
#ifndef WARDEN_DEMAND_H
#define WARDEN_DEMAND_H

#include <stdbool.h>
#include <stdint.h>

#define DEMAND_FADE_S 2

struct demand {
	uint64_t opened_us; /* when the window began */
	unsigned wanted;    /* in it, so far */
	unsigned peak16;    /* the most in one, faded; in sixteenths */
	uint64_t make_us;   /* that one takes until it waits, smoothed */
	uint64_t cost;	    /* bytes that one holds while it waits */
	bool measured;	    /* that is not an estimate any more */
};

/* Is it used often enough to be waited with at all? So many times within so long. */
#define DEMAND_USES 3u
#define DEMAND_OFTEN_US (300ull * 1000000)
struct demand_uses {
	uint64_t at_us[DEMAND_USES]; /* the last ones, in turn; 0: none yet */
	unsigned turn;
};

void demand_used(struct demand_uses *u, uint64_t now_us);
uint64_t demand_last_used(const struct demand_uses *u);
bool demand_is_often(const struct demand_uses *u, uint64_t now_us);

/* One was wanted, whether there was one or not. */
void demand_want(struct demand *d, uint64_t now_us);
/* One was made, in that time. */
void demand_made(struct demand *d, uint64_t took_us);
/* One that waits holds so much. */
void demand_cost(struct demand *d, uint64_t bytes);
/* Every DEMAND_FADE_S seconds. */
void demand_fade(struct demand *d);

/*
 * How many of each of `n` kinds may wait when all of them together hold at most `bytes`: their
 * floors as far as they fit, in the order of kinds; what is left is shared in proportion to what
 * each wants beyond its floor.
 */
void demand_share(const struct demand *d, const unsigned *floors, unsigned n, uint64_t bytes,
		  unsigned *ret_targets);

#endif
