/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of the host as they were before a workspace changed them: what a three-way merge needs. The
 * directory below /work is a live one, so they are copied when the command that changed them ends,
 * if nobody has changed them since before it began. What is not a text or is large is not kept, nor
 * is the oldest once there are too many.
 *
 * A layer without an entry for a path, or whose entries are not whole, has no origin for it: then
 * there is no merge.
 */
#ifndef STORE_ORIGIN_H
#define STORE_ORIGIN_H

#include <stddef.h>

#include "base/hash.h"
#include "store/workspace.h"

#define ORIGIN_FILE_MAX ((size_t)8 << 20)
#define ORIGIN_NONE (-1) /* an id of none: it is not kept */

struct origin {
	int64_t id;
	bool exec;
	char hash[HASH_TEXT_SIZE];
};

/* What the directory `dir` has at `paths` is what layer `number` was made over; `whole`: the layer
 * changed nothing else. Files that changed since the layer was opened are not kept. */
int origin_keep(struct store *s, int dir, uint32_t number, const char *const *paths, size_t n,
		bool whole, struct err *e);
/* The same for what an apply staged as `name`: its hash and mode are in `about`. *ret_id may be
 * ORIGIN_NONE. */
int origin_add(struct store *s, int stage, const char *name, const struct origin *about,
	       int64_t *ret_id, struct err *e);
/* A layer is made of others: what they were made over. In a transaction of the caller's. */
int origin_merge(struct store *s, uint32_t number, struct err *e);

/* 1, or 0: there is none. */
int origin_find(struct store *s, uint32_t layer, const char *path, struct origin *ret,
		struct err *e);
int origin_get(struct store *s, int64_t id, struct origin *ret, struct err *e);
/* Its bytes, checked; 1, or 0: they are gone. *ret is the caller's. */
int origin_read(struct store *s, const struct origin *o, char **ret, size_t *ret_len,
		struct err *e);

/* Remove what nobody refers to, and the oldest where it is too much. */
int origin_collect(struct store *s, struct err *e);

#endif
