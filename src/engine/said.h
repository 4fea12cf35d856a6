/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What --hide and --show said about the directory of a workspace, which remembers it as text: a
 * line for each pattern, with '-' before one that is hidden and '+' before one that is shown.
 */
#ifndef ENGINE_SAID_H
#define ENGINE_SAID_H

#include "engine/secrets.h"
#include "store/workspace.h"

#define SAID_MAX 256u

struct said {
	struct secrets_said lists; /* into what follows, and to what the caller gave */
	const char *hide[SAID_MAX + 1], *show[SAID_MAX + 1];
	char text[STORE_SAID_MAX];
};

/* The lists of a workspace, and those of one command with them, or NULL. */
int said_read(const char *text, const struct secrets_said *more, struct said *ret, struct err *e);
/* A pattern that can fit nothing below the directory, as an absolute path, is an error: who gave it
 * believes that something is hidden. */
int said_check(const struct secrets_said *said, struct err *e);
/* Add to the text what it does not have; with that check. */
int said_add(char text[STORE_SAID_MAX], const struct secrets_said *more, struct err *e);

#endif
