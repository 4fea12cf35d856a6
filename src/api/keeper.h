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

/* One thing asked for: words of a verb, answered by its JSON document. */
struct keeper_ask {
	const char *const *words; /* "log", "--json", "demo", NULL */
	const char *input;	  /* standard input; NULL: none */
	size_t input_len;
};

/* Ask and wait. *ret_text: what it printed (malloced). An error of the verb is an error here. */
int keeper_ask(struct call *c, const struct keeper_ask *ask, char **ret_text, size_t *ret_len,
	       struct err *e);
/* run.create with a name, workspace.exec: a command in a workspace, into a record, with events. */
int keeper_run(struct call *c, const char *workspace, bool create, struct err *e);

#endif
