/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a synchronisation remembers: for each pair of a workspace and a directory (`key` names it) a
 * directory of state, sync/W-KEY in the store (sync/pull-W-KEY of a pull), and the snapshot that
 * the last push made. Another workspace that got the same tree can give what it has.
 */
#ifndef STORE_DONOR_H
#define STORE_DONOR_H

#include "store/history.h"

#define DONOR_KEY_SIZE 33

struct donor {
	bool found;
	struct stack stack; /* what its files are in */
};

/* The state of one pair, made where it is not there; in `path`, and open. Where no
 * push that counts has been, `donor` says who may give: his last manifest is in it as "donor". */
int donor_state(struct store *s, const struct workspace *w, const char *key, char *path,
		size_t size, int *ret_fd, struct donor *donor, struct err *e);
/* A push has made this snapshot. */
int donor_note(struct store *s, const struct workspace *w, const char *key, uint64_t seq,
	       struct err *e);
/* Remove what is remembered of workspaces that are gone. */
int donor_collect(struct store *s, struct err *e);

#endif
