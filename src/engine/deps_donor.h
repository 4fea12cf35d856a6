/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packages whose files are in a layer need no archive beside them: of Python's, who installed one
 * wrote down a hash of all that became of it (`contents` of a set), and the driver makes a package of it
 * again, in a sandbox on that layer, which it compares with that hash. So archives beyond a few are
 * dropped, and sets that share a package still need no network.
 *
 * Of apt's and R's nothing is written down: their layers are what their scripts made of them. Of node's,
 * whose archives are small, neither.
 */
#ifndef ENGINE_DEPS_DONOR_H
#define ENGINE_DEPS_DONOR_H

#include "base/value.h"
#include "deps/names.h"
#include "store/store.h"

/* Is package `i` of the part in a layer that it could be had from? */
bool donor_has(struct store *s, enum deps_lang lang, const struct value *part, size_t i);
/* Package `i` of the part as a file without a name. 1, or 0: no layer has it. A layer that is not what was
 * installed is found by nobody any more. */
int donor_restore(struct store *s, enum deps_lang lang, const struct value *part, size_t i,
		  int *ret_fd, uint64_t *ret_bytes, struct err *e);
/* Drop archives whose packages are in layers on disk, the largest first, until those that are left are
 * no more than PINFOLD_DEPS_ARCHIVES (48M). */
int donor_shed(struct store *s, struct err *e);

#endif
