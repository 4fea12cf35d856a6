/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNEL_REMOVE_H
#define KERNEL_REMOVE_H

/*
 * Remove a directory and all below it that hostile code may have made: by descriptor, never
 * through a link, without recursion on our stack, never across a mount. 0 or -errno; a path that
 * does not exist is gone already.
 */
int remove_tree(const char *path);
/* The same below a directory that is open. */
int remove_tree_at(int dir, const char *path);

#endif
