/* SPDX-License-Identifier: Apache-2.0 */
/* From the name that a program imports to the package that has it. Pure: tables and arithmetic. */
#ifndef DEPS_NAMES_H
#define DEPS_NAMES_H

#include <stdbool.h>
#include <stddef.h>

enum deps_lang { DEPS_PYTHON, DEPS_NODE, DEPS_R };

#define DEPS_NAME_SIZE 215 /* the longest that an index takes (npm's), and NUL */

/* -1: none of ours. */
int deps_lang_of(const char *name, enum deps_lang *ret);

/* The package of a module, into `ret`. *ret_why says where that comes from, or is NULL: the names are
 * the same. -1: the name is none that an index could have. */
int deps_package(enum deps_lang lang, const char *module, char ret[DEPS_NAME_SIZE],
		 const char **ret_why);

/* The well-known package that this name was probably meant to be; NULL: it is fine as it is. */
const char *deps_meant(enum deps_lang lang, const char *package);

/* How an index compares names: Python's in lower case, with - for runs of - _ and . */
void deps_normal(enum deps_lang lang, const char *package, char ret[DEPS_NAME_SIZE]);

#endif
