/* SPDX-License-Identifier: Apache-2.0 */
/* A run in a workspace, for the files of engine/. */
#ifndef ENGINE_WORKSPACE_INT_H
#define ENGINE_WORKSPACE_INT_H

#include "engine/run_int.h"
#include "store/merge.h"
#include "store/check.h"

/* Words of a tool's arguments: what it may write. */
struct workspace_room {
	char bytes[24], files[24];
};

struct workspace_how {
	enum workspace_use use;
	const char *kind;    /* what the log calls it */
	const char *command; /* and says that it was; NULL: the command itself */
	const void *tool;    /* a program of ours, at /run/tool; NULL: none */
	size_t tool_len;
	const char *user;  /* who the tool is inside, NULL: the user */
	bool socket;	   /* standard input of the tool is one */
	const char *state; /* directory of the store for the tool, at /v/state; NULL: none */
	int state_fd;	   /* the same */
	struct workspace_room *room; /* to be filled in, or NULL */
	bool drops;		     /* it only looks: what it changes never was */
	const struct stack *before; /* with state: another view for it, at /v/old.root; NULL: none */
};

/* `o` is changed. *ret_run is NULL when it fails. */
int workspace_start(struct store *s, const char *name, struct pinfold_run_options *o,
		    const struct workspace_how *how, struct pinfold_run **ret_run, struct err *e);

/* workspace.c: pinfold_store_open() */
int workspace_store(const char *home, struct pinfold_store **ret, struct err *e);
/* pinfold_workspace_new() */
int workspace_new(struct store *s, const char *name,
		  const struct pinfold_workspace_options *options, struct err *e);
/* copy.c: a path inside, absolute and without . and .. ; relative ones are below the home
 * directory. */
int workspace_path(const char *path, char *to, size_t size, struct err *e);
/* Fails where nothing of such a path outlives a command. */
int workspace_keeps(const char *path, struct err *e);
/* What to do about an error that has no remedy yet; `conflict`: what if something is in the way. */
void workspace_remedy(struct err *e, const char *conflict);
/* Which view of the reader such a path is in, and where there. */
const char *workspace_view(const struct stack *stack, const char *path, const char **ret_rest);
/* still.c: a snapshot while a command is running. */
int workspace_snap_running(struct store *s, const char *name, const char *label, struct snap *ret,
			   struct err *e);
/* workspace.c: what of an operation the ledger keeps: a word that was asked for, where it stands
 * then. */
struct value *workspace_asked(const char *key, const char *text);
struct value *workspace_stands(int64_t snapshot);
/* merge.c: make the stack of a workspace shorter. */
int workspace_merge(struct store *s, const char *name, enum merge_how how, struct err *e);
int workspace_merge_all(struct store *s, struct err *e);

/* archive.c: what the reader says of an archive, for the public. */
union tree_answer;
void archive_stats_show(const union tree_answer *answer, struct pinfold_archive_stats *to);
/* fsck.c: the content of a layer, as a text. */
int layer_digest(struct store *s, uint32_t layer, uint32_t parts, char ret[CHECK_DIGEST_SIZE],
		 struct err *e);

#endif
