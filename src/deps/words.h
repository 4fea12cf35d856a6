/* SPDX-License-Identifier: Apache-2.0 */
/* Which program does an interpreter's command line start? Pure. */
#ifndef DEPS_WORDS_H
#define DEPS_WORDS_H

#include "deps/names.h"

/* Borrowed from the words; both NULL: whatever there is (a module, standard input, a word that
 * nobody knows). */
struct deps_words {
	const char *text; /* python3 -uc TEXT, node -pe TEXT */
	const char *file; /* python3 -W ignore FILE, node --import X FILE */
};

/* Words behind the interpreter's own name, NULL at the end. */
struct deps_words deps_words(enum deps_lang lang, const char *const *words);

#endif
