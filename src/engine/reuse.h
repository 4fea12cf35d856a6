/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections to the daemon on which a run of this process has ended. The next one asks there (LINK_KEEP) and
 * need not call at the door. May be used by several threads; a child of fork() has none.
 */
#ifndef ENGINE_REUSE_H
#define ENGINE_REUSE_H

#include <stdbool.h>

#define REUSE_PATH_SIZE 112 /* as long as an address of a socket may be */

/* Is it worth it? Not for a process that runs something once. */
bool reuse_wanted(void);
/* One to the socket at `path`, now the caller's; or FD_NONE. The daemon may hang up at any moment. */
int reuse_take(const char *path);
/* Takes *fd, which is FD_NONE then. */
void reuse_give(const char *path, int *fd);

#endif
