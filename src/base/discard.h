/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors that somebody sent. Closing one asks its file system (flush), and one that a caller
 * has mounted himself, with FUSE, need never answer. So who serves many neither takes such a
 * descriptor nor waits for its end.
 */
#ifndef BASE_DISCARD_H
#define BASE_DISCARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/* May closing it wait? True of files but for those in memory. Its file system is not asked. */
bool fd_may_wait(int fd);
/* Closes it, by a thread of the kernel's where that may wait. Where the kernel has no io_uring for
 * us (kernel.io_uring_disabled) it is closed at once, come what may. *fd is FD_NONE then. */
void fd_discard(int *fd);

/* Who sent such a thing. A program of ours never does, so nobody is listened to again who did,
 * until SHUNNED_MAX others have followed: what he can make wait is bounded. */
#define SHUNNED_MAX 64u
struct shunned {
	uid_t uid[SHUNNED_MAX];
	unsigned n; /* that there ever were */
};

void shunned_add(struct shunned *s, uid_t uid);
bool shunned_has(const struct shunned *s, uid_t uid);
/* What he is told. */
int shunned_refuse(struct err *e);

#endif
