/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a synchronisation remembers: for each pair of a workspace and a directory (`key` names it) a
 * directory of state, sync/W-KEY in the store (sync/pull-W-KEY of a pull), and the snapshot that
 * the last push made. Another workspace can give what it has: one that got the same directory, else
 * the one that got something last, since pieces are looked for by their hashes.
 */
#ifndef STORE_DONOR_H
#define STORE_DONOR_H

#include "store/history.h"

#define DONOR_KEY_SIZE 33

struct donor {
	bool found;
	struct stack stack; /* what its files are in */
	int64_t workspace;
	char key[DONOR_KEY_SIZE];
};

/* Where the state of a pair is; `path` has room for `size`. */
struct donor_place {
	char *path;
	size_t size;
	int fd; /* set when it is open */
};

/* The state of one pair, made where it is not there; in `path`, and open. Where no
 * push that counts has been, `donor` says who may give: his last manifest is in it as "donor", the
 * directory inside that it is about as "donor.to". Our own, `to`, is kept there for others. */
int donor_state(struct store *s, const struct workspace *w, const char *key, const char *to,
		struct donor_place *place, struct donor *donor, struct err *e);
/* A push has made this snapshot. */
int donor_note(struct store *s, const struct workspace *w, const char *key, uint64_t seq,
	       struct err *e);
/* Remove what is remembered of workspaces that are gone. */
int donor_collect(struct store *s, struct err *e);

#endif
