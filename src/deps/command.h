/* SPDX-License-Identifier: Apache-2.0 */
/* Which package has a command: pytest, npx tsx. Pure. */
#ifndef DEPS_COMMAND_H
#define DEPS_COMMAND_H

#include <stdbool.h>

#include "deps/names.h"

struct deps_command {
	enum deps_lang lang;
	char module[DEPS_NAME_SIZE]; /* that the command is of */
	bool takes;		     /* it takes a program, as the interpreter does */
	const char *const *rest;     /* the words behind it, borrowed */
};

/* false: nobody has written down whose it is. */
bool deps_command(const char *const *words, struct deps_command *ret);

#endif
