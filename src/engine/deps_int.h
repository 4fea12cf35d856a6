/* SPDX-License-Identifier: Apache-2.0 */
/* What programs need, for the files of engine/. */
#ifndef ENGINE_DEPS_INT_H
#define ENGINE_DEPS_INT_H

#include "base/value.h"
#include "deps/lock.h"
#include "deps/names.h"
#include "engine/reader.h"
#include "engine/run_int.h"

/* Where programs are: a directory of the host, or a workspace. */
struct deps_place {
	const char *dir; /* NULL: none */
	struct store *store;
	const char *workspace; /* its name, NULL: not in one */
	const char *root;      /* where they are inside */
};

/* A script of ours, that prints one document. */
struct deps_script {
	const char *lang, *code; /* NULL: the words are a command */
	const char *const *words;
	bool keeps;	  /* what it changes in the workspace stays */
	const char *text; /* its standard input, or NULL */
	size_t text_len;
};

/* Which of them: files, or a text; neither: all. */
struct deps_program {
	const char *const *files; /* below the root */
	bool is_guess;		  /* where these are not there, all are meant */
	const char *text;
	size_t text_len;
	const char *name; /* of the text */
	bool is_more;	  /* beside the text everything else is meant, too */
};

/* deps.c: what comes is hostile, and whole JSON. */
int deps_run_script(const struct deps_place *place, const struct deps_script *script,
		    struct value **ret, struct err *e);
/* As pinfold_deps_scan() has it. */
int deps_scan(const struct deps_place *place, enum deps_lang lang, const struct deps_program *p,
	      struct value **ret, struct err *e);
/* deps_table.c: the user's own names (deps/table.h) count from now on, and go into *h, which may be
 * NULL. */
int deps_table(struct hash *h, struct err *e);
/* deps_keep.c: where a workspace has its programs, inside. */
int deps_root(struct store *s, const char *workspace, const char **ret, struct err *e);
/* pinfold.lock there. *ret is NULL where there is none. */
int deps_read_lock(const struct deps_place *place, struct value **ret, struct err *e);
int deps_write_lock(const struct deps_place *place, const struct value *lock, struct err *e);
/* deps_lock.c: the store of the data directory, made if it is not there. */
int deps_open_store(struct store **ret, struct err *e);
static inline void deps_close_store(struct store **s)
{
	store_close(*s);
}
#define auto_store __attribute__((cleanup(deps_close_store))) struct store
/* deps_run.c: how old a version has to be, as the environment says. */
unsigned deps_age_hours(void);

#endif
