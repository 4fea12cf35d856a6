/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The git directory of a worktree or submodule that is shown with --dir: it lies elsewhere, and a
 * file .git names it. Whoever wrote that file may name anything, so it is shown only if it is a git
 * directory, belongs to the caller, is reached without links, and itself names the directory that
 * is shown.
 */
#ifndef ENGINE_GITDIR_H
#define ENGINE_GITDIR_H

#include "engine/secrets.h"

#define GITDIR_PATH_MAX 1024u

struct gitdir {
	bool found; /* else nothing but `note` counts */
	int fd;
	const char *note;	      /* why it is not shown, NULL: there is none */
	char path[GITDIR_PATH_MAX];   /* on the host */
	char inside[GITDIR_PATH_MAX]; /* where .git leads to inside */
	char link[GITDIR_PATH_MAX]; /* where its configuration has the directory, if not at /work */
	struct secrets secrets;	    /* of it, with ".git/" before each path */
	char *hidden[SECRETS_MAX + 1]; /* the same without; borrows */
};

/* `dir` is the directory `real`, an absolute path without links. */
void gitdir_find(int dir, const char *real, const struct secrets_said *said, struct gitdir *ret);
void gitdir_done(struct gitdir *g);

#endif
