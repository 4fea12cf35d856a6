/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that go on without us, in sandboxes that the daemon keeps. */
#ifndef CMD_DETACH_H
#define CMD_DETACH_H

#include "cmd/request.h"

/* Make a sandbox that lives, with the request's command or with none; prints its id. Returns the
 * exit status. */
int detach_run(struct request *r);
/* What makes sense only for one that outlives the call. */
int detach_check_attached(const struct request *r, struct err *e);
/* Looks like an id, not like a name. */
bool is_sandbox_id(const char *word);

#endif
