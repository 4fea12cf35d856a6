/* SPDX-License-Identifier: Apache-2.0 */
/* From the name that a program imports to the package that has it. Pure: tables and arithmetic. */
#ifndef DEPS_NAMES_H
#define DEPS_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* The distribution's packages are no language, but are had, locked and kept as those of one. */
enum deps_lang { DEPS_PYTHON, DEPS_NODE, DEPS_R, DEPS_APT };
#define DEPS_LANGS (DEPS_APT + 1)

#define DEPS_NAME_SIZE 215 /* the longest that an index takes (npm's), and NUL */

/* -1: none of ours. */
int deps_lang_of(const char *name, enum deps_lang *ret);

/* The package of a module, into `ret`. *ret_why says where that comes from, or is NULL: the names
 * are the same. -1: the name is none that an index could have, or the user's table (table.h) says
 * that it is none's. */
int deps_package(enum deps_lang lang, const char *module, char ret[DEPS_NAME_SIZE],
		 const char **ret_why);

/* A module whose name several packages have: "a, b", the likeliest first, and what they are. NULL: its
 * name says which it is, or the user's table does. */
const char *deps_many(enum deps_lang lang, const char *module, const char **ret_why);

/* Does a part of it that the program uses (`Bot` of discord) say which package has the module? */
bool deps_told(enum deps_lang lang, const char *module, const char *part, char ret[DEPS_NAME_SIZE],
	       const char **ret_why);

/* Could an index have it? */
bool deps_is_name(enum deps_lang lang, const char *name);

/* The well-known package that this name was probably meant to be; NULL: it is fine as it is. */
const char *deps_meant(enum deps_lang lang, const char *package);

/* Of a name that no index has: the well-known package that is nearest to it, if any is near enough to
 * be worth a word. */
const char *deps_nearest(enum deps_lang lang, const char *package);

/* Is it one of those well-known ones? */
bool deps_is_popular(enum deps_lang lang, const char *package);

/* A name that people give to modules of their own (utils, config): no package is meant by it. */
bool deps_is_own(enum deps_lang lang, const char *module);

/* Where a module comes from that is of no package at all (Python 2, a program that Python is built
 * into); NULL: it may be of one. deps_is_own() has these, too. */
const char *deps_none(enum deps_lang lang, const char *module);

/* All of the tables, so that what was answered with others is not taken for an answer. */
struct hash;
void deps_names_add(struct hash *h);

/* How an index compares names: Python's in lower case, with - for runs of - _ and . */
void deps_normal(enum deps_lang lang, const char *package, char ret[DEPS_NAME_SIZE]);

/* Are both, with versions or without, about one package? */
bool deps_is_same(enum deps_lang lang, const char *a, const char *b);

/* What is asked for, in the package manager's words: pandas>=2, express@^4, alias@npm:express@4.
 * Its name (of an alias, what that stands for), up to where the words about versions begin. */
void deps_asked_name(enum deps_lang lang, const char *asked, char ret[DEPS_NAME_SIZE]);
/* Is it that: a package of the index, with versions or without? URLs, paths and options are not. */
bool deps_is_asked(enum deps_lang lang, const char *asked);

#endif
