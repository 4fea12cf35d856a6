/* SPDX-License-Identifier: Apache-2.0 */
/* A change as a patch that git and patch take. Pure. */
#ifndef TREE_PATCH_H
#define TREE_PATCH_H

#include "tree/change.h"

/*
 * The head of a change, to be followed by its text: "diff --git", modes, and the names where there
 * is text, or a line that says why there is none. Names with bytes that a terminal or a patch would
 * stumble over are quoted as git does. *ret is the caller's; "" for what git does not know
 * (directories, FIFOs, sockets, owners, attributes).
 */
int tree_patch_head(const struct tree_change *c, char **ret, struct err *e);

#endif
