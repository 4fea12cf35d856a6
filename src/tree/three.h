/* SPDX-License-Identifier: Apache-2.0 */
/* Two changes of one text become one, by lines, as git merges them. three.c is pure. */
#ifndef TREE_THREE_H
#define TREE_THREE_H

#include <stddef.h>

#include "base/err.h"

struct tree_three_text {
	const char *text; /* borrowed; at most TREE_TEXT_FILE_MAX */
	size_t len;
};

struct tree_three {
	struct tree_three_text base, ours, theirs;
	/* What comes of it. */
	char *out; /* owned; NULL with a conflict */
	size_t out_len;
	unsigned conflicts; /* places that both changed, and not alike */
	size_t line,
		line_end; /* the first of them in `theirs`, from 1; both the same: in front of it */
};

/*
 * Changes that neither overlap nor touch are both taken, and so are equal ones; all else is a
 * conflict, which is a result and no error. ERR_LIMIT: a text has too many lines.
 */
int tree_three_merge(struct tree_three *t, struct err *e);
void tree_three_done(struct tree_three *t);

/* three_frame.c: the same by somebody else, who is asked and answers over descriptors. Nothing that
 * he says is believed beyond its shape. */
int tree_three_ask(int fd, const struct tree_three *t, struct err *e);
int tree_three_serve(int in_fd, int out_fd, struct err *e);
int tree_three_answered(int fd, struct tree_three *t, struct err *e);

#endif
