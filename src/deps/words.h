/* SPDX-License-Identifier: Apache-2.0 */
/* Which program does an interpreter's command line start? Pure. */
#ifndef DEPS_WORDS_H
#define DEPS_WORDS_H

#include <stdbool.h>

#include "deps/names.h"

/* Borrowed from the words; all NULL: whatever there is (a module, standard input, a word that
 * nobody knows). */
struct deps_words {
	const char *text;   /* python3 -uc TEXT, node -pe TEXT */
	const char *file;   /* python3 -W ignore FILE, node --import X FILE */
	const char *module; /* python3 -m MODULE, without text and file; node --import MODULE */
};

/* Words behind the interpreter's own name, NULL at the end. */
struct deps_words deps_words(enum deps_lang lang, const char *const *words);
/* What imports the module, for a scanner; false: it is none, or one of a path. */
#define DEPS_IMPORT_SIZE 320u
bool deps_words_import(enum deps_lang lang, const char *module, char ret[DEPS_IMPORT_SIZE]);

#endif
