/* SPDX-License-Identifier: Apache-2.0 */
/* A change as the public sees it. */
#ifndef ENGINE_CHANGE_H
#define ENGINE_CHANGE_H

#include "base/err.h"
#include "pinfold/pinfold.h"
#include "tree/change.h"

struct change_shown {
	struct pinfold_change change; /* borrows from `c` and from below */
	char *head, *path;
};

/* `prefix` begins its path. Starts as zeros; change_done() in any case. */
int change_show(const struct tree_change *c, const char *prefix, struct change_shown *ret,
		struct err *e);
void change_done(struct change_shown *s);
#define auto_change __attribute__((cleanup(change_done)))

#endif
