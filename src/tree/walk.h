/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walking trees that hostile code made, maybe still makes: on descriptors, never through a link,
 * as deep as they are, with one open directory per tree and no recursion on our stack.
 */
#ifndef TREE_WALK_H
#define TREE_WALK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"
#include "tree/path.h"

/* What one walk may look at, at once: descriptors are few (64 in a reader). */
#define TREE_LAYERS_MAX 24
#define TREE_DEPTH_MAX 100000u

/* Names of one directory, or of several together; each once, in order of their bytes. */
struct tree_names {
	char *bytes;
	size_t bytes_len, bytes_room;
	uint32_t *at; /* offset of each name */
	size_t n, n_room;
};

/* Add what is in the directory `fd`; the order is made by tree_names_sort(). */
int tree_names_add(struct tree_names *names, int fd, struct err *e);
void tree_names_sort(struct tree_names *names);
void tree_names_done(struct tree_names *names);

static inline const char *tree_names_get(const struct tree_names *names, size_t i)
{
	return names->bytes + names->at[i];
}

/*
 * A place in one tree. Going up is by "..", and then looked at: it must be the directory that we
 * came from, else somebody moved it and the walk ends with ERR_BUSY.
 */
struct tree_cursor {
	int fd; /* the directory we are in */
	unsigned depth;
	size_t room;
	struct tree_above {
		dev_t dev;
		ino_t ino;
	} * above;
};

#define TREE_CURSOR_INIT                                                                           \
	{                                                                                          \
		.fd = FD_NONE                                                                      \
	}

/* `dirfd` is borrowed for the call. */
int tree_cursor_init(struct tree_cursor *c, int dirfd, struct err *e);
void tree_cursor_done(struct tree_cursor *c);
/* -ENOTDIR: it is something else (a link, too); -ENOENT: it is not there. The cursor stays then. */
int tree_cursor_down(struct tree_cursor *c, const char *name, struct err *e);
int tree_cursor_up(struct tree_cursor *c, struct err *e);

/* The directory at `path` below `dirfd`, "" or "." for itself, step by step without links. */
int tree_open_dir(int dirfd, const char *path, size_t len, int *ret_fd, struct err *e);
/* The directory that holds `path`; *ret_name is its last component, within `path`. */
int tree_open_parent(int dirfd, const char *path, int *ret_fd, const char **ret_name,
		     struct err *e);

/*
 * The walk itself. list() says what is in the directory that the context is in; visit() looks at
 * one name and returns 1 when the context went down into it, else 0; leave() goes up again, and is
 * called for the first directory, too. `mark` is what visit() noted about a directory for later.
 */
struct tree_walk {
	const struct tree_walk_ops *ops;
	void *ctx;
	uint64_t mark;	 /* of the directory we are in */
	size_t path_len; /* of the name that is visited, or the directory that is left */
	char path[TREE_PATH_MAX + 1]; /* its beginning, where path_len is larger */
	unsigned depth;
	size_t room;
	struct tree_level *levels;
};

struct tree_walk_ops {
	int (*list)(struct tree_walk *w, struct tree_names *names, struct err *e);
	int (*visit)(struct tree_walk *w, const char *name, uint64_t *ret_mark, struct err *e);
	int (*leave)(struct tree_walk *w, struct err *e);
};

/* `prefix` begins every path. Stops at the first error. */
int tree_walk(const struct tree_walk_ops *ops, void *ctx, uint64_t mark, const char *prefix,
	      struct err *e);

/* For messages. */
const char *tree_walk_show(const struct tree_walk *w, struct tree_shown *s);

/* Remove `name` in `dirfd` and all below it; what is not there is gone already. */
int tree_remove(int dirfd, const char *name, struct err *e);

#endif
