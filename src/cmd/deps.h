/* SPDX-License-Identifier: Apache-2.0 */
/* What pinfold deps does beside scan; each ends the verb with its status. */
#ifndef CMD_DEPS_H
#define CMD_DEPS_H

#include "cmd/request.h"

int deps_show(struct request *r);
int deps_add(struct request *r, const char *const *names); /* ended by NULL */
int deps_rm(struct request *r, const char *const *names);
int deps_update(struct request *r, const char *const *names);
int deps_fetch(struct request *r);
int deps_ls(struct request *r);
int deps_gc(struct request *r);
int deps_hold(struct request *r); /* --hold-fd, for the API */

#endif
