/* SPDX-License-Identifier: Apache-2.0 */
/* What sandboxes that run may reach: pinfold allow ID. */
#ifndef CMD_ALLOW_H
#define CMD_ALLOW_H

#include "cmd/request.h"

/* Shown, or changed, as the options say. The exit status. */
int allow_live(const struct request *r, const char *id);
/* A process that nobody waits for stays as long as what this one made needs it for its way out. */
void allow_stay(void);

struct policy;
/* --explain-command, with the policy that counts. The exit status, or negative. */
int allow_command(const struct request *r, const struct policy *p, struct err *e);

#endif
