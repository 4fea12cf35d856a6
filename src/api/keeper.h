/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workspaces, for a process that may not touch the store. The keeper is a process of its own, with
 * the rights of who started the daemon; for every request it starts `pinfold VERB`, with words that
 * it has checked and the caller's descriptors, in the data directory of the tenant. It parses
 * nothing but its own fixed messages.
 */
#ifndef API_KEEPER_H
#define API_KEEPER_H

#include "api/api.h"
#include "api/call.h"

/* The process: call it in a child that has one thread, with one end of a pair of SOCK_SEQPACKET. It
 * returns, with the child's exit status, when the other end is closed and what it had started has
 * ended. All other descriptors above 2 are closed. home: the data directory. */
int keeper_main(int socket, const char *home);

/* The API's side; `socket` (the other end) is taken. SIGPIPE is ignored from here on. */
int keeper_new(int socket, struct keeper **ret, struct err *e);
void keeper_free(struct keeper *k);

/* One thing asked for: words of a verb, answered by its JSON document. */
struct keeper_ask {
	const char *const *words; /* "log", "--json", "demo", NULL; options as --name=VALUE, first */
	const char *input;	  /* standard input; NULL: none */
	size_t input_len;
};

/* Ask and wait. *ret_text: what it printed (malloced, with a NUL behind). An error of the verb is
 * an error here. */
int keeper_ask(struct call *c, const struct keeper_ask *ask, char **ret_text, size_t *ret_len,
	       struct err *e);
struct pinfold_run_options;
/* Packages of the tenant, held, as pinfold_deps_hold() has them: of deps, packages, lang and code;
 * or his image. */
int keeper_hold(struct call *c, const struct pinfold_run_options *o, int *ret_fd, char **ret_json,
		struct err *e);
/* Values of the tenant's secrets, for a run or a sandbox of ours: the vault is in his data
 * directory, and closed to this process. They come as one descriptor, which the library hands to
 * the gate; nobody here reads it. `room` stays as long as `o`. Without a keeper nothing is set. */
struct pinfold_secrets_from;
void keeper_give(struct call *c, struct pinfold_secrets_from *room, struct pinfold_run_options *o);
/* Which packages of its programs a call wants to be there; NULL: none. These are in the store,
 * too. */
const char *keeper_deps(const struct call *c);
/* The same, or packages by name? */
bool keeper_packages(const struct call *c);
bool keeper_image(const struct call *c);
/* Does its policy inject secrets, or look so? */
bool keeper_secrets(const struct call *c);
/* run.create with a name or packages, workspace.exec: a command in a workspace (NULL: in a
 * sandbox of its own), into a record, with events; the result is the call's reply. */
int keeper_run(struct call *c, const char *workspace, bool create, struct err *e);

#endif
