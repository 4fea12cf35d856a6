/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Project quotas of a filesystem: all files that carry one number, however they are reached, have
 * together no more than so many bytes and inodes. The number goes from a directory to what is made
 * in it. Who is in another user namespace than the host's can neither change it nor take it off.
 */
#ifndef KERNEL_QUOTA_H
#define KERNEL_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

struct quota {
	uint64_t bytes, inodes;		/* what there is */
	uint64_t bytes_max, inodes_max; /* 0: no limit */
};

/* Does the filesystem of `fd` hold limits of projects? Asks only. */
bool quota_enforced(int fd);
/* Of one project. 0 or -errno; a number that nobody has used is all zeros. */
int quota_get(int fd, uint32_t project, struct quota *ret);
/* Set the two limits, hard ones; 0: none. 0 or -errno. */
int quota_set(int fd, uint32_t project, uint64_t bytes_max, uint64_t inodes_max);
/* Give a directory a project, with what will be made in it. 0 or -errno. */
int quota_mark(int dir, uint32_t project);
/* Does it belong to a project, or what is made in it? */
bool quota_is_marked(int fd);

#endif
