/* SPDX-License-Identifier: Apache-2.0 */
/* A run from the caller's side: start it, stay with it, say how it ended. */
#ifndef CMD_SESSION_H
#define CMD_SESSION_H

#include "cmd/request.h"

/* Returns the exit status of the CLI. Nothing of the run is left, whichever way it went. */
int session_run(struct request *r);

#endif
