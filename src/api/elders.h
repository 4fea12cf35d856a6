/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the front knows of the other processes that serve (link.h): which runs, sandboxes and keys
 * each of them has. A request that names one of those is handed to it, with its connection.
 *
 * The loop's thread, where nothing else is said.
 */
#ifndef API_ELDERS_H
#define API_ELDERS_H

#include "api/link.h"

#define ELDERS_KEYS_MAX 65536u

struct elders;
struct exchange;

/* keep_ms: as of runs_keep(). */
int elders_new(struct api *api, uint64_t keep_ms, struct elders **ret, struct err *e);
void elders_free(struct elders *el);
/* `fd` is taken: the end of a link. */
void elders_add(struct elders *el, int fd, bool runner);
/* Have all of them told what they have? */
bool elders_synced(const struct elders *el);
/* Called when that may have changed. */
void elders_on_synced(struct elders *el, void (*fn)(void *arg), void *arg);
/* Runs that they have going on in sandboxes: tenant and sandbox. */
void elders_each_live(struct elders *el, void (*fn)(const struct link_run *run, void *arg),
		      void *arg);

/* A request whose head was read, of a caller who is known. `subject`: what its path names, or NULL.
 * True: it is another's, and the connection is gone. */
bool elders_route(struct elders *el, struct exchange *x, const char *subject);

/* Any thread: runs of a tenant that others have, newest first; malloced. */
struct link_run *elders_runs(struct elders *el, const char *tenant, size_t *ret_n);

/* Handlers: is this a call whose run the runner should have? */
bool elders_can_start(struct elders *el, const struct call *c);
/* Have the runner do the call; answers when its run has begun. */
int elders_start(struct elders *el, struct call *c, struct err *e);

#endif
