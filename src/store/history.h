/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened to a workspace, as a chain of snapshots from its head back to its beginning. Taking
 * something back moves the head along that chain: no file is touched, whatever its size.
 *
 *	kind		made by
 *	new, fork	the workspace's beginning
 *	exec, shell, cp, push, import	something that may have changed files: a command
 *	base		what was before is forgotten
 *	snap		a person who wanted to come back here; changes nothing
 *	rollback	going to another snapshot; undo goes back to where it was before
 */
#ifndef STORE_HISTORY_H
#define STORE_HISTORY_H

#include <stdint.h>

#include "base/err.h"
#include "base/id.h"
#include "store/workspace.h"

#define SNAP_COMMAND_SIZE 1024u

struct snap {
	int64_t id, before;
	int64_t seq; /* its number in the workspace, which people use */
	char kind[12];
	struct stack stack;
	uint32_t layer; /* what it added, 0: nothing */
	char run[ID_SIZE];
	char command[SNAP_COMMAND_SIZE];
	char status[12]; /* of a run, "" for others */
	int exit_status;
	int64_t made_ms;
	uint64_t wall_us, files, bytes;
	char label[STORE_LABEL_MAX + 1];
	int64_t dropped_ms; /* 0: it counts */
};

/* Append to the history of `w`: kind, stack, layer and the description of `snap`; fills in the
 * rest. In a transaction of the caller's. */
int history_append(struct store *s, struct workspace *w, struct snap *snap, struct err *e);

/* The same without going there: a snapshot that is found by its number or label. */
int history_beside(struct store *s, struct workspace *w, struct snap *snap, struct err *e);

/* A number or a label; "head" and NULL: where it stands. Those that were taken back are found until
 * they are collected. ERR_MISSING. */
int history_find(struct store *s, const struct workspace *w, const char *name, struct snap *ret,
		 struct err *e);
int history_get(struct store *s, int64_t id, struct snap *ret, struct err *e);
/* From the newest to the oldest. `all`: also those that were taken back and have no label. */
int history_each(struct store *s, const struct workspace *w, bool all,
		 int (*each)(const struct snap *snap, void *arg), void *arg, struct err *e);

/* ERR_CONFLICT: there is one of that label. */
int history_refuse_label(struct store *s, const struct workspace *w, const char *label,
			 struct err *e);
/* Each takes the workspace's lock, moves its head and says where it stands now. */
int history_snap(struct store *s, const char *name, const char *label, struct snap *ret,
		 struct err *e);
int history_undo(struct store *s, const char *name, uint64_t count, struct snap *ret,
		 struct err *e);
int history_rollback(struct store *s, const char *name, const char *to, struct snap *ret,
		     struct err *e);
/* Forget what is older than `before_ms`, but not the last `last` commands: undo goes no further
 * than that, where a snapshot of the kind "base" stands. What has a label stays. *ret_count: how
 * many went. */
int history_forget(struct store *s, const char *name, int64_t before_ms, uint64_t last,
		   uint64_t *ret_count, struct err *e);
/* A new workspace with the files of a snapshot of another (NULL: as it stands). */
int history_fork(struct store *s, const char *name, const char *at, const char *twin,
		 struct snap *ret, struct err *e);

#endif
