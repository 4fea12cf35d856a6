/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When much more is asked for than can be done, waiting helps nobody: whoever is served has waited
 * as long as the queue is, and all are slow. A crowd that fits into the queue is served, all of it;
 * but one that keeps on coming while the queue is full is an overload, until for a second nobody
 * had to be refused. Then
 *
 * - nobody waits longer than a run takes, the others are told at once to come again; of those that
 *   wait the youngest is next, so that most who are served have not waited at all;
 * - there are as many runs at once as keep the processors busy: runs that compute only slow each
 *   other down. Runs that mostly sleep are as many as ever.
 *
 * A crowd is not let in all at once: first as many as keep the processors busy, then half as many
 * again every 20 ms as long as there is a processor with nothing to do. If they compute, each has its
 * result in the time that it takes among as many as there are processors; if they sleep, hundreds are
 * in before anybody would notice.
 *
 * So a run that is admitted takes up to three times as long as on an idle daemon, its wait
 * included. What a run takes, and how much of that it computes, is learned while nobody waits.
 * Arithmetic only.
 */
#ifndef WARDEN_OVERLOAD_H
#define WARDEN_OVERLOAD_H

#include <stdbool.h>
#include <stdint.h>

struct overload {
	unsigned processors;
	uint64_t took_us, cpu_us; /* of a run, smoothed; 0: not known yet */
	uint64_t waited_us;	  /* when somebody was seen waiting last */
	uint64_t full_us;	  /* when one was refused first, since the queue was empty */
	uint64_t refused_us;	  /* and last */
	unsigned window;	  /* how many runs at once in a crowd; 0: there is none */
	uint64_t window_us;	  /* since when */
	bool on;
};

/* A run has ended. */
void overload_ran(struct overload *o, uint64_t begun_us, uint64_t now_us, uint64_t cpu_us);
/* So many are in the queue, of which one is `next` to be served just now: who comes in is there for a
 * turn of the loop, and does not wait. So many on the whole machine want a processor (us included; 0:
 * nobody knows). */
void overload_waiting(struct overload *o, unsigned n, bool next, uint64_t now_us, unsigned busy);
/* overload_waiting() will want to know the latter. */
bool overload_wants_look(const struct overload *o, uint64_t now_us);
/* One is refused: the queue is full, or he has waited too long. */
void overload_refused(struct overload *o, uint64_t now_us);

/* How long a request may wait, how many runs there may be; at most as given. */
uint64_t overload_patience_us(const struct overload *o, uint64_t most_us);
unsigned overload_runs(const struct overload *o, unsigned most);
/* A run that takes longer is none of those, and does not count as one. */
uint64_t overload_long_us(const struct overload *o);

#endif
