/* SPDX-License-Identifier: Apache-2.0 */
/* What is read of who waits for an answer, by guard.c and move.c. */
#ifndef SANDBOX_GUARD_INT_H
#define SANDBOX_GUARD_INT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A string of his. Its length, without NUL; -EFAULT; -ENAMETOOLONG: `max` bytes are filled, and none
 * of them is NUL. */
ssize_t guard_string(pid_t pid, uint64_t at, char *to, size_t max);
/* A path of his as an absolute one: `dir` is his descriptor, or AT_FDCWD. */
int guard_absolute(pid_t pid, int dir, const char *path, char *ret, size_t size);
/* Below his root; nothing is opened but a handle of the place. */
int guard_open(pid_t pid, const char *path, int flags);

#endif
