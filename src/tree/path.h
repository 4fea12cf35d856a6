/* SPDX-License-Identifier: Apache-2.0 */
/* Paths inside a tree: relative, any byte but NUL, checked before they are used. Pure. */
#ifndef TREE_PATH_H
#define TREE_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define TREE_PATH_MAX 4096
#define TREE_NAME_MAX 255

/* Refuses a path that is empty, absolute or too long, and one with a component that is empty, ".",
 * ".." or too long, or with a NUL in it. */
int tree_path_check(const char *path, size_t len, struct err *e);

/* The order of a walk: a directory, all that is below it, then its next sibling. */
int tree_path_cmp(const char *a, size_t a_len, const char *b, size_t b_len);

/* Is `path` below `dir`? All but the root itself is below "". */
bool tree_path_below(const char *path, size_t len, const char *dir, size_t dir_len);

/* A path for a message: what is not printable as \x.., a long one cut. */
struct tree_shown {
	char text[200];
};
const char *tree_show(struct tree_shown *s, const char *path, size_t len);

#endif
