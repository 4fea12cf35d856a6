/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The side of an elder or of the runner (link.h): it tells the front what it has, takes requests
 * for that, and hands connections on whose next request may be for anybody.
 *
 * The loop's thread, where nothing else is said.
 */
#ifndef API_HEIRS_H
#define API_HEIRS_H

#include "api/link.h"

struct heirs;
struct record;
struct server;

/* runner: connections are handed on from the first one on. */
int heirs_new(struct api *api, struct server *s, bool runner, struct heirs **ret, struct err *e);
void heirs_free(struct heirs *h);
/* `fd` is taken: the end of a link to a front, which is told everything. */
void heirs_add(struct heirs *h, int fd);
/* We were the front, and are an elder from here on: no new connection; the process ends when
 * nobody can ask for anything that it has. */
void heirs_yield(struct heirs *h);

/* A connection between two requests. True: a front has it now. */
bool heirs_pass_on(struct heirs *h, struct conn *c);
/* Any thread: a run has begun, or ended. */
void heirs_run(struct heirs *h, const struct record *rec);
/* While everything is told: something that requests may name. */
void heirs_key(struct heirs *h, const char *tenant, const char *key);

#endif
