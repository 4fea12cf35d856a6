/* SPDX-License-Identifier: Apache-2.0 */
/* What a verb does beside the library, on record: begin before it, end behind it. What the library
 * does has events of its own. */
#ifndef CMD_NOTED_H
#define CMD_NOTED_H

#include "base/err.h"
#include "base/value.h"

struct noted {
	const char *kind;    /* "secret.set" */
	const char *sandbox; /* NULL: none */
	struct value *data;  /* what it is about: names, never contents; owned until the end */
};

/* One word in the data, and not too much of it. */
void noted_word(struct noted *n, const char *key, const char *text);
/* Negative: it cannot be recorded, so it must not be done. */
int noted_begin(struct noted *n, struct err *e);
/* Returns r. It was done or has failed (negative, e says why). Also for one that did not begin. */
int noted_end(struct noted *n, int r, const struct err *e);
/* The same with the code of an error of the library's. */
int noted_over(struct noted *n, int r, const char *code);

#endif
