/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TREE_COPY_H
#define TREE_COPY_H

#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"

/* Owner, extended attributes (of a raw layer), mode and times of `from` for `to`, in that order; no
 * set-id bit but a directory's. */
int tree_copy_meta(int from, const struct stat *st, int to, uint64_t *lost, struct err *e);

/* Make `name` in `to_dir`, where nothing of that name is, what it is in `from_dir`: any type but
 * directory and device. *ret_bytes grows by what was written; a clone of blocks writes nothing. */
int tree_copy(int from_dir, const char *name, struct stat *st, int to_dir, uint64_t *ret_bytes,
	      uint64_t *lost, struct err *e);

#endif
