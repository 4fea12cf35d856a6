/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layer that a command writes to.
 *
 *	upper_open()  -->  upper_freeze(): it is the top of the workspace, for good
 *	              \->  upper_drop():   it never was
 *
 * A process that dies in between leaves an open layer without a lock, which store_collect()
 * removes.
 */
#ifndef STORE_UPPER_H
#define STORE_UPPER_H

#include "store/history.h"
#include "store/workspace.h"

/* What layers take, about. */
struct space {
	uint64_t bytes, files;
};

struct upper {
	struct store *store; /* borrowed */
	struct workspace w;  /* as it was when the command began */
	uint32_t number;
	char sandbox[ID_SIZE]; /* the id of who will write to it */
	struct space used;     /* by the layers of the workspace before it */
	uint32_t project;      /* that its files belong to; 0: none (project.h) */
	int lock, dir;
};

/* Make an empty layer on top of a workspace, and hold the workspace: alone, or beside others who
 * also share. `usr`: the command may change /usr. ERR_BUSY; ERR_CONFLICT as of check_trust(). */
int upper_open(struct store *s, const char *name, enum workspace_use use, bool usr,
	       struct upper **ret, struct err *e);
/* What it holds is the workspace from now on, with `snap` (kind, run, command and so on) as its
 * description; fills in the rest. Frees the upper, whatever happens. */
int upper_freeze(struct upper *u, struct snap *snap, struct err *e);
void upper_drop(struct upper *u);
/* The directories of a layer's parts (LAYER_*), empty. */
int layer_make_parts(const struct store *s, int dir, uint32_t parts, struct err *e);
/* Which parts of a layer there are. */
uint32_t layer_parts(const struct store *s, uint32_t number);
/* When something on them could not start: an error of its own if one of them is not there. */
int layers_lost(const struct store *s, const struct sandbox_layer *layers, unsigned n,
		struct err *e);
/* Remove one that never came to be: its files, then its row. */
void layer_forget(struct store *s, uint32_t number);
/* Where layers are, for a sandbox that looks at them. */
struct sandbox_layers store_layers(const struct store *s);
/* What a sandbox on it needs to know; borrows from it. ERR_LIMIT: too many layers to mount. */
int upper_layers(const struct upper *u, struct sandbox_layers *ret, struct err *e);

/* What the layers of its workspace hold now: its own, with those that were undone, and those that
 * it was forked with, whoever has them, too. */
int upper_used(const struct upper *u, struct space *ret, struct err *e);
/* Remove what only an open layer needs from a frozen one. */
void layer_tidy(const struct store *s, uint32_t number);

/* Remove open layers that nobody holds, and frozen ones that no snapshot and nobody who runs has.
 * *ret_bytes is what that gave back, about. */
int store_collect(struct store *s, uint64_t *ret_bytes, struct err *e);
/* The same after giving up at once what was taken back in one workspace: its room is needed. */
int store_collect_undone(struct store *s, int64_t workspace, struct err *e);

#endif
