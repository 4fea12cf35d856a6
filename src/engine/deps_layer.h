/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what is asked for to a layer:
 *
 *	deps_resolve()	asked -> a part of a lock, by the driver, with the index's network
 *	deps_fetch()	what of it is not in the cache, by the driver, with the index's network
 *	deps_install()	files of the cache -> a layer, by the driver, with no network; kept by its key
 *
 * Each runs in a sandbox of its own. What comes out of one is checked before it goes into the next:
 * a lock by lock_check_part(), files by their hashes, the layer by the reader, which makes it.
 */
#ifndef ENGINE_DEPS_LAYER_H
#define ENGINE_DEPS_LAYER_H

#include "base/value.h"
#include "deps/names.h"
#include "store/depset.h"

struct deps_want {
	const struct value *asked; /* an array of what the package manager takes */
	const struct value *part;  /* whose versions are to be preferred, or NULL */
	const struct value *given; /* what the manifest says beside that (deps_kind.h), or NULL */
	bool source;		   /* packages may be built from source, inside */
	unsigned age_hours;	   /* younger versions are refused; 0: none are */
	bool recalls; /* where the index does not answer, what it said to the same question counts */
};

/* *ret is a checked part, with `asked` in it. */
int deps_resolve(struct store *s, enum deps_lang lang, const struct deps_want *want,
		 struct value **ret, struct err *e);
/* Every file of the part is in the cache then. offline: ERR_MISSING says which is not. */
int deps_fetch(struct store *s, enum deps_lang lang, const struct value *part, bool offline,
	       struct err *e);
/* What the layer of a part is found by. */
int deps_key(enum deps_lang lang, const struct value *part, char ret[HASH_TEXT_SIZE],
	     struct err *e);
/* The layer of the part, made if it is not there; held until *ret_lock is closed. */
int deps_install(struct store *s, enum deps_lang lang, const struct value *part, struct depset *ret,
		 int *ret_lock, struct err *e);

#endif
