/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's own table of names, before ours: a line each,
 *
 *	MODULE PACKAGE		or LANGUAGE:MODULE PACKAGE; python where nothing is said
 *
 * A # begins a comment. The package - is none: the module is somebody's own, and is asked of no
 * index. One table a process; a new one takes the place of that before.
 */
#ifndef DEPS_TABLE_H
#define DEPS_TABLE_H

#include "base/err.h"
#include "deps/names.h"

#define TABLE_NAME "deps.names"
#define TABLE_LINES_MAX 10000u
#define TABLE_NONE "-"

struct table_row {
	enum deps_lang lang;
	const char *module, *package;
};

/* The error says which line and column. What was there before stays on failure. */
int table_set(const char *text, size_t len, const char *file, struct err *e);
/* Exactly this module; NULL: it has no row. */
const struct table_row *table_find(enum deps_lang lang, const char *module);

#endif
