/* SPDX-License-Identifier: Apache-2.0 */
/* Which programs does a text for a shell start? Pure. */
#ifndef DEPS_SHELL_H
#define DEPS_SHELL_H

#include <stdbool.h>

#include "deps/names.h"

/* Of the first language that something is started of. */
struct deps_shell {
	enum deps_lang lang;
	char *text; /* python3 -c TEXT, python3 - <<END: all of these, one behind the other; owned */
	char *file;   /* python3 FILE; NULL also where there are several; owned */
	bool is_more; /* there are several */
};
void deps_shell_done(struct deps_shell *s);

/* Is this program an interpreter of a language, and does it take programs (deps_kind_of())? */
typedef bool deps_shell_kind(const char *program, enum deps_lang *ret, bool *ret_takes);

bool deps_is_shell(const char *program);
/* Of the words of a command those from its program on: env A=1 nice -n 5 PROGRAM. */
const char *const *deps_shell_program(const char *const *words);
/* The text that `sh -c TEXT` has, in words behind the shell's name; NULL: it is started otherwise. */
const char *deps_shell_text(const char *const *words);
/* True: something of a language is started. What a variable stands for, or a file says, nobody
 * looks up: this is a guess at what will be needed. */
bool deps_shell(const char *text, deps_shell_kind *kind, struct deps_shell *ret);

#endif
