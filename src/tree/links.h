/* SPDX-License-Identifier: Apache-2.0 */
/* Which files of a tree are one file: the first path of each inode that has several names. */
#ifndef TREE_LINKS_H
#define TREE_LINKS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct tree_links {
	struct tree_link *slots;
	size_t n, n_slots;
	char *paths;
	size_t paths_len, paths_room;
	size_t n_max, paths_max; /* inodes and bytes of paths that are kept, at most */
};

void tree_links_init(struct tree_links *links, size_t n_max, size_t paths_max);
void tree_links_done(struct tree_links *links);
/* The path that was noted for this inode, or NULL; good until the next one is noted. `ret_value`,
 * which may be NULL, gets its value. */
const char *tree_links_find(const struct tree_links *links, dev_t dev, ino_t ino,
			    uint64_t *ret_value);
/* 1: noted; 0: it is full, and this file will not be found again. */
int tree_links_note(struct tree_links *links, dev_t dev, ino_t ino, const char *path,
		    uint64_t value, struct err *e);

#endif
