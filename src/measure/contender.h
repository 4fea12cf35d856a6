/* SPDX-License-Identifier: Apache-2.0 */
/* Who is measured: a name, a command line, the samples taken so far. */
#ifndef MEASURE_CONTENDER_H
#define MEASURE_CONTENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTENDERS_MAX 16

struct contender {
	const char *name; /* borrowed, as argv and base */
	char **argv;
	const char *base;  /* whom it is compared with; NULL: whom the table names */
	size_t max;	   /* samples it gets at most: some take a second each */
	uint64_t *samples; /* nanoseconds, owned */
	size_t n;
	size_t failures;
	char reason[300]; /* of the last failure */
};

/* False: no memory for its samples. */
bool contender_init(struct contender *c, const char *name, char **argv, size_t max);
void contenders_done(struct contender *c, size_t n);

void contender_sample(struct contender *c, uint64_t ns);
/* One more that did not end well, and why. Returns false. */
bool contender_failed(struct contender *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Before contender_percentile(). */
void contenders_sort(struct contender *c, size_t n);
/* Nearest rank; 0 when there are too few samples for that percentile to mean anything. */
uint64_t contender_percentile(const struct contender *c, unsigned percent);
/* NULL where there is none of that name. */
const struct contender *contender_find(const struct contender *c, size_t n, const char *name);

/* A new order for each round, so that nobody always pays for the same neighbour's clean-up. */
void shuffle(size_t *order, size_t n);

#endif
