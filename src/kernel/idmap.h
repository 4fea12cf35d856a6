/* SPDX-License-Identifier: Apache-2.0 */
/* Which host ids a user namespace's ids are. */
#ifndef KERNEL_IDMAP_H
#define KERNEL_IDMAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct idmap_line {
	uint32_t inside;
	uint32_t outside;
	uint32_t count;
};

#define IDMAP_LINES 5

struct idmap {
	struct idmap_line uid[IDMAP_LINES];
	struct idmap_line gid[IDMAP_LINES];
	unsigned n_uid, n_gid;
	bool deny_setgroups; /* the price of an unprivileged gid map */
	bool helper;	     /* written by newuidmap and newgidmap */
};

/* Give the user namespace of child `pid` its maps. */
int idmap_write(pid_t pid, const struct idmap *map, struct err *e);

/* First subordinate range of at least `count` ids that `file` (/etc/subuid, /etc/subgid) gives to
 * the user, by number or by `name`. 0 and *ret_first, or -ENOENT. */
int idmap_subordinate(const char *file, uid_t uid, const char *name, uint32_t count,
		      uint32_t *ret_first);

/* Does any line of `file` touch [first, first + count)? */
bool idmap_taken(const char *file, uint32_t first, uint32_t count);

#endif
