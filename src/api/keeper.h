/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workspaces, for a process that may not touch the store. The keeper is a process of its own, with
 * the rights of who started the daemon; for every request it starts `pinfold VERB`, with words that it
 * has checked and the caller's descriptors, in the data directory of the tenant. It parses nothing
 * but its own fixed messages.
 */
#ifndef API_KEEPER_H
#define API_KEEPER_H

#include "api/api.h"
#include "api/call.h"

/* The process: call it in a child that has one thread, with one end of a pair of SOCK_SEQPACKET. It
 * returns, with the child's exit status, when the other end is closed and what it had started has ended.
 * All other descriptors above 2 are closed. home: the data directory. */
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

/* Ask and wait. *ret_text: what it printed (malloced, with a NUL behind). An error of the verb is an
 * error here. */
int keeper_ask(struct call *c, const struct keeper_ask *ask, char **ret_text, size_t *ret_len,
	       struct err *e);
/* run.create with a name, workspace.exec: a command in a workspace, into a record, with events; the
 * result is the call's reply. */
int keeper_run(struct call *c, const char *workspace, bool create, struct err *e);

#endif
