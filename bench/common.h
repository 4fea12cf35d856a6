/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs of bench/ share beside src/measure: their command lines, and who they are.
 * Every function here ends the process when it cannot go on: a benchmark that is half right is of
 * no use.
 */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

#include <stdio.h>

#include "measure/contender.h"
#include "measure/table.h"
#include "measure/timed.h"

/*
 * "@NAME[/MAX] ARG... @NAME..." as contenders; argv is cut into pieces in place. Contenders without
 * a maximum get `samples`. Returns how many.
 */
size_t contenders_parse(struct contender *ret, char **argv, size_t samples);
unsigned long parse_number(const char *text, const char *what);

/* Options that all of them have. */
struct options {
	size_t samples, warmups;
	unsigned long uid; /* 0: stay who we are */
	struct look look;
	FILE *results; /* NULL: nobody asked */
};

/* Takes one of -n -w -u -t -o -m; false: it is none of these. */
bool option_take(struct options *o, int opt, const char *value);
/* streams_take(), then -u. Returns what was standard output. */
FILE *begin(const struct options *o);
/* For the runner: title, name, p50 and p99 in nanoseconds, between tabs. */
void results_print(const struct contender *c, size_t n, const struct options *o);
/* The table and the results. Returns the exit status. */
int finish(FILE *out, struct contender *c, size_t n, const struct options *o);

#endif
