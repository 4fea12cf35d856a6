/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that a run made, kept with its record: they can be read when the sandbox is gone, as long
 * as the result can. All of a run's are in one file without a name, one behind the other.
 */
#ifndef API_KEPT_H
#define API_KEPT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/value.h"

struct kept;

#define KEPT_FILES_MAX 64u
#define KEPT_BYTES_MAX (64ull << 20) /* of one run */

/* `patterns`: an array of names or globs, absolute or below /home/user, borrowed. NULL: no
 * memory. */
struct kept *kept_new(const struct value *patterns, bool is_inline);
void kept_free(struct kept *k);

/* pinfold_kept_fn: copies what a pattern names, while there is room. */
void kept_add(void *k, const char *path, int fd, uint64_t size);
/* In the files of a result: `artifact`, where each can be read; `content` of images and small texts
 * where that was asked for; `kept` is false where there was no room. */
void kept_describe(struct kept *k, struct value *doc, const char *run);
uint64_t kept_bytes(const struct kept *k); /* NULL: 0 */
/* A descriptor of the caller's own, and where in it; not_found.file. */
int kept_open(const struct kept *k, const char *path, uint64_t *ret_offset, uint64_t *ret_size,
	      struct err *e);

#endif
