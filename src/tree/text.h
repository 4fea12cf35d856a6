/* SPDX-License-Identifier: Apache-2.0 */
/* The difference of two texts, as git and patch read it. Pure. */
#ifndef TREE_TEXT_H
#define TREE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define TREE_TEXT_FILE_MAX ((size_t)8 << 20)
#define TREE_TEXT_LINES_MAX (1u << 20) /* a line of one byte costs 40 here */

/* Git's rule, and one of ours: what is larger than that nobody reads as text. */
bool tree_text_is_binary(const void *data, size_t len);

/*
 * Hunks with 3 lines of context, without a head; *ret is the caller's, and ends with a NUL that is
 * not counted. Equal texts have none. Where the two differ too much for a short answer (by lines or
 * by work), what is between their common beginning and end is one hunk. A text of more than
 * TREE_TEXT_LINES_MAX lines is ERR_LIMIT.
 */
int tree_text_diff(const char *old, size_t old_len, const char *new, size_t new_len, char **ret,
		   size_t *ret_len, struct err *e);

#endif
