/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs of workspaces have in common. */
#ifndef CMD_WORKSPACE_H
#define CMD_WORKSPACE_H

#include "cmd/request.h"

/* NAME and the words behind it. */
struct named {
	struct request r;
	struct pinfold_store *store;
	const char *name, *word[2];
	char **words; /* all behind NAME, ended by NULL */
	char **all;   /* owned */
};

/* Parses the options of a verb, takes NAME and between `least` and `most` further words (`what`
 * names them), and opens the store; least < 0: nor need NAME be there. False: the verb has ended
 * with *ret_status. */
bool named_begin(struct named *n, const struct verb *v, int argc, char **argv, int least, int most,
		 int *ret_status);
void named_done(struct named *n);
#define auto_named __attribute__((cleanup(named_done)))
#define NAMED_INIT                                                                                 \
	{                                                                                          \
		.r = REQUEST_INIT                                                                  \
	}

/* Opens the store; false: said why. */
bool store_ready(struct pinfold_store **ret, bool json);
/* Closes it; what can wait is done in a process that nobody waits for. */
void store_leave(struct pinfold_store **store);

#endif
