/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs of bench/ share: contenders on a command line, their samples, one timed start
 * of a program. Every function here ends the process when it cannot go on:
 * a benchmark that is half right is of no use.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CONTENDERS_MAX 16

struct contender {
	const char *name; /* borrowed from the command line, as argv */
	char **argv;
	size_t max;	   /* samples it gets at most: some take a second each */
	uint64_t *samples; /* nanoseconds, owned */
	size_t n;
	size_t failures;
	char reason[300]; /* of the last failure */
};

/*
 * "@NAME[/MAX] ARG... @NAME..." as contenders; argv is cut into pieces in place. Contenders without
 * a maximum get `samples`. Returns how many.
 */
size_t contenders_parse(struct contender *ret, char **argv, size_t samples);
void contender_sample(struct contender *c, uint64_t ns);
void contenders_done(struct contender *c, size_t n);

/*
 * From here on programs that are started read nothing and write to nobody, without any action in
 * posix_spawn() that would slow the bare one. What was standard output is returned.
 */
FILE *streams_take(void);
/* Start argv, wait for its end. True and *ret_ns, or false and why in `reason` of the contender. */
bool timed_spawn(struct contender *c, uint64_t *ret_ns);
/* The first line that a program started since the last call wrote to standard error. */
void first_complaint(char *ret, size_t size);

uint64_t now_ns(void);
unsigned long parse_number(const char *text, const char *what);
/* Before become_user(), which may not write there. Closed by the end of the process. */
FILE *results_open(const char *path);
void become_user(unsigned long uid);
/* A new order for each round, so that nobody always pays for the same neighbour's clean-up. */
void shuffle(size_t *order, size_t n);

#endif
