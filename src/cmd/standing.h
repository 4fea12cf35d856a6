/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_STANDING_H
#define CMD_STANDING_H

#include "base/err.h"

struct request;

/* Is the text of r->run.policy a policy? `option`: what it came by. */
int standing_check(const struct request *r, const char *option, struct err *e);

#endif
