/* SPDX-License-Identifier: Apache-2.0 */
/* What deps_layer.c, deps_build.c and deps_donor.c share: a driver that asks an index, and files on their way. */
#ifndef ENGINE_DEPS_LAYER_INT_H
#define ENGINE_DEPS_LAYER_INT_H

#include "engine/deps_box.h"
#include "engine/deps_index.h"
#include "engine/deps_layer.h"

/* For the driver; `index` may be NULL. To be freed. */
struct value *layer_question(const char *mode, const struct deps_index *index);
/* A driver that reaches what the policy says. */
int layer_start(enum deps_lang lang, const char *policy, struct box *ret, struct err *e);
/* One that reaches nothing, on a layer of packages. */
int layer_start_on(enum deps_lang lang, const struct store *s, uint32_t layer, struct box *ret,
		   struct err *e);
/* Files of the part, from the cache to the driver; and the other way, those that the part has. */
int layer_give(struct store *s, enum deps_lang lang, struct box *b, const struct value *part,
	       struct err *e);
int layer_take(struct store *s, struct box *b, const struct value *part, struct err *e);

/* deps_build.c: what has to be executed to be had becomes what needs not be. */
int layer_build(struct store *s, enum deps_lang lang, const struct deps_index *index,
		const struct deps_want *want, struct value *part, struct err *e);

#endif
