/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SANDBOX_VOLUME_H
#define SANDBOX_VOLUME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * A filesystem of `bytes` on disk, for a layer that is too large for memory: an unnamed file in
 * `dir`, formatted as ext4, behind a loop device that frees itself. Nothing of it has a name on the
 * host, so nothing of it can be left behind. Needs root. Its top belongs to uid and gid.
 */
int volume_make(const char *dir, uint64_t bytes, uid_t uid, gid_t gid, int *ret_mount,
		struct err *e);
/*
 * Whether a layer on tmpfs can do all that one on disk can. It cannot before Linux 6.6: tmpfs has
 * no user attributes there, without which an overlay refuses (EIO) to remove a directory that is in
 * the tree below it.
 */
bool volume_unneeded(void);
/* Throw its content away: closing `dir`, the last descriptor of it, then does not write it back. */
void volume_discard(int dir);

#endif
