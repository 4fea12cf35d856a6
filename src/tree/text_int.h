/* SPDX-License-Identifier: Apache-2.0 */
/* Two texts, line by line: which lines of each the other has not. For the files of this room. */
#ifndef TREE_TEXT_INT_H
#define TREE_TEXT_INT_H

#include <stdint.h>

#include "tree/text.h"

struct text_line {
	const char *at; /* borrowed */
	size_t len;	/* with its newline */
	uint32_t id;	/* equal lines have the same */
};

struct text {
	struct text_line *lines;
	size_t n;
	uint8_t *edited; /* by line: it is not in the other text */
};

struct text_diff {
	struct text old, new;
	char *out; /* of who writes it down */
	size_t out_len, out_room;
};

/* Call text_diff_done() whatever it returns; `d` is zeroed before. */
int text_diff_init(struct text_diff *d, const char *old, size_t old_len, const char *new,
		   size_t new_len, struct err *e);
void text_diff_done(struct text_diff *d);

#endif
