/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory of the host that a workspace shows at /work, opened to be compared with or written
 * to. Whatever somebody who was killed had begun to write there is taken back first.
 */
#ifndef ENGINE_HOST_DIR_H
#define ENGINE_HOST_DIR_H

#include <stdbool.h>

#include "store/history.h"
#include "store/workspace.h"

struct host_dir {
	struct store *store; /* borrowed */
	struct workspace w;
	struct snap head;
	int fd;	  /* of the directory; with `write` it is locked */
	int lock; /* of the workspace, with `write` */
};

/* The workspace that a name means, which may be the id of a run that one keeps. */
int host_dir_meant(struct store *s, const char *name, char ret[STORE_NAME_MAX + 1], struct err *e);
/* ERR_BUSY: with `write`, while a command runs; or somebody writes to the directory just now.
 * ERR_CONFLICT: it is not the directory that the workspace was made with. */
int host_dir_open(struct store *s, const char *name, bool write, struct host_dir **ret,
		  struct err *e);
void host_dir_close(struct host_dir *d);

#endif
