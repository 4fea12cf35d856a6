/* SPDX-License-Identifier: Apache-2.0 */
/* libpinfold: delta synchronisation between a workspace and a directory that is elsewhere */
#ifndef PINFOLD_SYNC_H
#define PINFOLD_SYNC_H

#include "pinfold.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The two sides of pinfold_workspace_push() and _pull(), apart: what is between them is any stream
 * of bytes. Each believes nothing of the other.
 */
#define PINFOLD_SYNC_KEY_SIZE 33

/* The workspace's side. */
struct pinfold_sync_serve {
	size_t size;
	int push;	/* the other side's directory comes here; 0: it gets what is here */
	const char *to; /* path inside; NULL: /home/user */
	uint32_t flags; /* PINFOLD_SYNC_MIRROR */
	const char
		*key; /* which directory the other side has: 32 of 0-9 and a-f, of its own choice */
	int in, out;  /* what comes from the other side and goes there; may be one socket */
	/* Called once, before the first byte goes out: nothing is wrong so far. Or NULL. */
	void (*ready)(void *context);
	void *context;
};

/* Of *ret_stats, push fills in what changed and the snapshot. */
PINFOLD_API int pinfold_sync_serve(struct pinfold_store *store, const char *name,
				   const struct pinfold_sync_serve *how,
				   struct pinfold_sync_stats *ret_stats,
				   struct pinfold_error *ret_error);

/* The directory's side; `store` remembers what was sent. `peer` says which workspace it is, in
 * words of the caller's own that stay the same. */
struct pinfold_sync_side {
	size_t size;
	int push;
	const char *peer, *dir;
	int socket; /* a stream; what comes behind the last message is not read */
};

PINFOLD_API int pinfold_sync_key(const struct pinfold_sync_side *side, const char *to,
				 char ret_key[PINFOLD_SYNC_KEY_SIZE],
				 struct pinfold_error *ret_error);
PINFOLD_API int pinfold_sync_directory(struct pinfold_store *store,
				       const struct pinfold_sync_side *side,
				       const struct pinfold_sync_options *options,
				       struct pinfold_sync_stats *ret_stats,
				       struct pinfold_error *ret_error);

#ifdef __cplusplus
}
#endif
#endif
