/* SPDX-License-Identifier: Apache-2.0 */
/* Samples as a table for people, plain or in Markdown. */
#ifndef MEASURE_TABLE_H
#define MEASURE_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "measure/contender.h"

struct look {
	const char *title; /* NULL: none */
	const char *base;  /* names of the two contenders that ratios are taken to; NULL: none */
	const char *peer;
	bool markdown;
};

/* Sorts the samples. */
void table_print(FILE *out, struct contender *c, size_t n, const struct look *look);
void commands_print(FILE *out, const struct contender *c, size_t n, const struct look *look);

#endif
