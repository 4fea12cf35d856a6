/* SPDX-License-Identifier: Apache-2.0 */
/* A run from the caller's side: start it, stay with it, say how it ended. */
#ifndef CMD_SESSION_H
#define CMD_SESSION_H

#include "cmd/request.h"

/* Returns the exit status of the CLI. Nothing of the run is left, whichever way it went. */
int session_run(struct request *r);
/* The same in a sandbox that lives. */
int session_exec(struct request *r, const char *id);
/* The same in a workspace; with `fresh` it is made for it, and removed again when nothing ran. */
int session_workspace(struct request *r, const char *name, uint32_t flags, bool fresh);
/* Stay with a command of the daemon's: PINFOLD_FOLLOW_*. With the result, its status is ours,
 * too. */
int session_follow(struct request *r, const char *id, uint32_t pid, uint32_t flags);

#endif
