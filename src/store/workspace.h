/* SPDX-License-Identifier: Apache-2.0 */
/* Workspaces by name: made, found, listed, locked, removed. */
#ifndef STORE_WORKSPACE_H
#define STORE_WORKSPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/stack.h"
#include "store/store.h"

#define STORE_PATH_MAX 4096u
#define STORE_SAID_MAX 4096u

struct workspace {
	int64_t id;
	char name[STORE_NAME_MAX + 1];
	int64_t created_ms;
	int64_t head; /* row of snap */
	int64_t seq;  /* last number that was given to one */
	uint64_t disk_bytes, inodes;
	char dir[STORE_PATH_MAX];  /* of the host, shown at /work; "" for none */
	uint64_t dir_dev, dir_ino; /* what that was when the workspace was made */
	int64_t dir_born_ns;	   /* 0: the filesystem does not say */
	char said[STORE_SAID_MAX]; /* what of it is hidden and shown: engine/said.h */
	struct stack stack;	   /* of head */
};

/* name, disk_bytes, inodes, dir and stack say what it is to be. Fills the rest. ERR_CONFLICT: there
 * is one of that name. */
int workspace_make(struct store *s, struct workspace *w, struct err *e);
/* The same in a transaction of the caller's, as a branch `from` another. */
int workspace_insert(struct store *s, struct workspace *w, const char *from, struct err *e);
/* Remember w->disk_bytes and w->inodes. */
int workspace_limit(struct store *s, const struct workspace *w, struct err *e);
/* Remember w->said. */
int workspace_say(struct store *s, const struct workspace *w, struct err *e);
/* The open directory `fd` is what w->dir is from now on. */
int workspace_note_dir(struct workspace *w, int fd, struct err *e);
/* Is it that one still? The number of one that is gone is soon another's: where the filesystem says
 * when a directory was made, that counts, too. */
bool workspace_is_dir(const struct workspace *w, int fd);
/* ERR_MISSING, with the nearest name. */
int workspace_find(struct store *s, const char *name, struct workspace *ret, struct err *e);
/* The workspace that has what a run changed; 0: none has, or it was taken back there. */
int workspace_of_run(struct store *s, const char *run, char ret[STORE_NAME_MAX + 1], struct err *e);
/* In the order of their names; stops when `each` returns < 0. */
int workspace_each(struct store *s, int (*each)(const struct workspace *w, void *arg), void *arg,
		   struct err *e);
/* Their names at this moment, for who changes them one by one. The caller frees ->name. */
struct workspace_names {
	char (*name)[STORE_NAME_MAX + 1];
	size_t n, room;
};
int workspace_names(struct store *s, bool (*wanted)(const struct workspace *w, const void *arg),
		    const void *arg, struct workspace_names *ret, struct err *e);
/* What it would give back if it were removed: bytes of layers that nobody else has; and all. */
int workspace_sizes(struct store *s, const struct workspace *w, uint64_t *ret_own,
		    uint64_t *ret_shared, struct err *e);

enum workspace_use {
	USE_SHARED,
	USE_ALONE,
	USE_WAIT,  /* alone, and wait for it */
	USE_FIRST, /* alone to begin with; who asks to share it may come later */
};
/* Hold it while something runs in it or its history is changed. ERR_BUSY. */
int workspace_lock(struct store *s, const struct workspace *w, enum workspace_use use, int *ret_fd,
		   struct err *e);
/* Does anybody hold it? One that was removed is held by nobody. */
bool workspace_is_used(struct store *s, int64_t id);
/* 1 or 0: is there one of this number? */
int workspace_exists(struct store *s, int64_t id, struct err *e);
/* Remove the locks of those that are gone: of one who was killed while he removed it, or looked for it
 * meanwhile. */
int workspace_collect_locks(struct store *s, struct err *e);
/* Forget it. Its space is given back by store_collect(). */
int workspace_remove(struct store *s, const char *name, struct err *e);

#endif
