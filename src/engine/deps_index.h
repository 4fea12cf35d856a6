/* SPDX-License-Identifier: Apache-2.0 */
/* Where packages come from: what the package manager's own configuration on this machine names. */
#ifndef ENGINE_DEPS_INDEX_H
#define ENGINE_DEPS_INDEX_H

#include "base/err.h"
#include "base/value.h"
#include "deps/names.h"

struct deps_index {
	struct value *doc; /* what the driver is told: {"url", "extra": [], "trusted": []}; owned */
	char *policy;	   /* what its sandbox may reach: these hosts, GET and HEAD; owned */
};

/* Passwords in URLs are left behind: no secret goes in; but apt's, where apt alone sees them. */
int deps_index_find(enum deps_lang lang, struct deps_index *ret, struct err *e);
/* Is this URL, from a manifest of pip's, one of those, or pip's own default, which those stand
 * for? */
bool deps_index_is_one(const struct deps_index *index, const char *url);
void deps_index_done(struct deps_index *i);
#define auto_index __attribute__((cleanup(deps_index_done))) struct deps_index

#endif
