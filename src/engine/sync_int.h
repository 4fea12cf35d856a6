/* SPDX-License-Identifier: Apache-2.0 */
/* For sync*.c: what a synchronisation is made of, whether both sides are here or one. */
#ifndef ENGINE_SYNC_INT_H
#define ENGINE_SYNC_INT_H

#include "engine/run_int.h"
#include "pinfold/sync.h"
#include "store/donor.h"
#include "sync/session.h"

#define SYNC_IDLE_MS (5 * 60 * 1000)
#define SYNC_NO_ROOM "make room where the directory is, and where the data directory is"

struct transfer {
	const char *name, *dir, *to;
	const struct pinfold_sync_options *o;
	struct pinfold_sync_stats *stats;
	const char *peer;		      /* the workspace is elsewhere, at this; or NULL */
	const struct pinfold_sync_serve *far; /* the directory is elsewhere; or NULL */
};

/* A directory, where it goes to and whose that is, as a short name. */
int sync_key(const struct transfer *t, char key[DONOR_KEY_SIZE], char **ret_real, struct err *e);
/* That directory. ERR_INVALID: it is something else. */
int sync_open(const char *real, int *ret_fd, struct err *e);
/* What this side remembers of a directory. */
int sync_state(const struct store *s, const char *what, const char *key, int *ret_fd,
	       struct err *e);
void sync_stats_public(const struct sync_stats *from, struct pinfold_sync_stats *to);

/* The directory's side. */
int sync_send_dir(const struct transfer *t, int tree, int state, int sock, struct err *e);
int sync_receive_dir(const struct transfer *t, int tree, int state, int sock, struct err *e);

/* The workspace's side: bytes to and from a reader until it has no more to say. */
int sync_pump(const struct pinfold_sync_serve *far, int reader, struct err *e);

/* sync.c: with a workspace that is here. */
int sync_push(struct store *s, const struct transfer *t, struct err *e);
int sync_pull(struct store *s, const struct transfer *t, struct err *e);
int sync_target(const char *to, char path[STORE_PATH_MAX], struct err *e);

#endif
