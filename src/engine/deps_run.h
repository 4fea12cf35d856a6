/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packages for one run (--deps): what its programs need is found out, had and held before anything
 * of the run is made. The same question as before needs neither a sandbox nor the network: a hash
 * of the texts (of a directory: of its files' names, sizes and times) leads to the lock that it
 * came to.
 */
#ifndef ENGINE_DEPS_RUN_H
#define ENGINE_DEPS_RUN_H

#include "base/value.h"
#include "deps/imports.h"
#include "deps/names.h"
#include "pinfold/pinfold.h"
#include "sandbox/spec.h"
#include "store/store.h"

struct run_deps {
	struct store *store; /* where the layers are; owned, unless it is a workspace's */
	bool borrowed;
	unsigned n;
	uint32_t number[DEPS_LAYERS_MAX];
	int lock[DEPS_LAYERS_MAX]; /* while these are open nobody removes them */
	bool has_node;		   /* one of them has packages of node */
	struct value *links;	   /* names outside /usr that lead into a layer; NULL: none */
	const char **link;	   /* the same, borrowed from it; owned as an array */
	struct value *packages; /* what the result says: name, version, sha256; NULL: no --deps */
	struct value *layers;	/* with them: language and key (deps/lock.h) */
	char *watched;		/* which files of theirs tell that they are used (guest/seen.c) */
	size_t watched_len;
	/* What its program imports of them (deps/imports.h), "": nobody knows. */
	char modules[IMPORTS_SIZE];
	struct value *imported; /* what came of it, a letter for each package; NULL: nothing */
};

/* Of a replay: "=LANGUAGE:KEY[,LANGUAGE:KEY]", the very layers that a run had, and no others.
 * Malloced; NULL: it had none, or no memory. */
#define DEPS_AGAIN '='
char *deps_again(const struct run_deps *had);

/* Nothing without --deps. What it did is gone from `o`, so that nobody does it again; and a run
 * with packages is made in this process, unless the daemon may have an interpreter for it that
 * waits. `workspace`: its name, in `store`; or NULL. */
int deps_prepare(struct pinfold_run_options *o, struct store *store, const char *workspace,
		 struct run_deps *ret, struct err *e);
void deps_release(struct run_deps *d);
#define auto_deps __attribute__((cleanup(deps_release))) struct run_deps

struct request;
/* The request has them from now on. */
void deps_attach(struct request *r, struct run_deps *taken);
/* For the daemon, as one descriptor (sandbox/bundle.h); FD_NONE where there are none. */
int deps_bundle(const struct request *r, int *ret_fd, struct err *e);

struct pinfold_run;
/* Did it end because a module was not there? */
void deps_find_missing(struct pinfold_run *run);
/* What to do about a module that was not there, for a person or a model. */
void deps_hint(const struct pinfold_run *run, char *to, size_t size);

/* deps_find.c: the part of a lock for what a run needs, and whether the lock of its directory had
 * it. */
struct deps_ask {
	const char *mode; /* auto, manifest, retry */
	enum deps_lang lang;
	const char *dir; /* of the host, real path; NULL: none */
	struct store *store;
	const char *workspace; /* NULL: none */
	const char *text;      /* a program that is no file, or NULL */
	size_t text_len;
	const char *
		file; /* the program, below dir or the workspace's root; NULL, or not there: all of it */
	bool is_more;		     /* there are more files, beside the text */
	const char *const *packages; /* asked for by name, or NULL */
	unsigned age_hours;
	bool source;
	bool offline;
	bool only_binary; /* refuse what was built from source, or by scripts */
};
/* deps_seen.c: the files of a layer's packages that tell whether they are used, `modules` of what
 * is written down of the layer, are watched from now on; and what came of it, a letter for each
 * package (wire/msg.h). `so_far`: of a sandbox that lives, whichever command it was, which is the
 * sandbox's to have on record. */
int deps_watch(struct run_deps *d, const struct value *layer, struct err *e);
/* deps_live.c: what a sandbox that lives has, by the layers that the daemon says: found in the store of
 * who made it. Where that is not ours, nothing is known. */
struct link_layers;
void deps_of_live(struct run_deps *d, const struct link_layers *layers);
void deps_list(struct run_deps *d, enum deps_lang lang, const struct value *part, const char *key);
void deps_seen(struct run_deps *d, const char *states, size_t n, bool so_far);

/* deps_run.c: what it comes to is installed and held. */
int deps_have(struct run_deps *d, const struct deps_ask *ask, struct err *e);
/* deps_named.c: by name; in `list` of each language they are the caller's own texts. */
#define DEPS_NAMED_MAX 64u
struct deps_named {
	const char *list[DEPS_LANGS][DEPS_NAMED_MAX + 1];
	unsigned n[DEPS_LANGS];
};
int deps_take_named(const char *const *names, enum deps_lang standard, struct deps_named *ret,
		    struct err *e);
/* These, and nothing else, of one language. */
int deps_have_named(struct run_deps *d, enum deps_lang lang, const struct deps_named *named,
		    struct err *e);
/* deps_apt.c: packages of the distribution, by name; a comma may stand between several. */
int deps_have_apt(struct run_deps *d, const char *const *names, struct err *e);
/* *ret is NULL where nothing is needed. *ret_lock: what pinfold.lock should say from now on; NULL: it does. */
int deps_find(const struct deps_ask *ask, struct value **ret, struct value **ret_lock,
	      struct err *e);
/* Refuses a name that looks like a typing error of a well-known one. */
int deps_refuse_typo(enum deps_lang lang, const char *package, const char *where, struct err *e);

/* deps_guess.c: the language whose packages a command needs that does not say; `dir` may be
 * NULL. */
enum deps_lang deps_guess(const char *dir);

/* deps_print.c: the files of a directory that could matter, as a hash that says whether they
 * changed. */
struct hash;
int deps_print_dir(const char *dir, struct hash *h, struct err *e);
/* The same, and which languages it has programs of, as far as their endings tell: a bit for each. */
int deps_print_programs(const char *dir, struct hash *h, unsigned *ret_langs, struct err *e);
/* One that is named may have any name. */
void deps_print_file(const char *dir, const char *file, struct hash *h);
/* And the interpreter with what it has installed. */
void deps_print_host(enum deps_lang lang, struct hash *h);

#endif
