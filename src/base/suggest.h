/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": the nearest of some names to what was typed, when it is near enough. */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include <limits.h>
#include <stddef.h>

struct nearest {
	const char *name; /* the best so far, NULL for none */
	unsigned distance;
};

#define NEAREST_INIT                                                                               \
	{                                                                                          \
		NULL, UINT_MAX                                                                     \
	}

/* Keeps `name` in *n when it is nearer to the word than what is there. */
void nearest_try(struct nearest *n, const char *word, size_t word_len, const char *name);

#endif
