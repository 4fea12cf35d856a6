/* SPDX-License-Identifier: Apache-2.0 */
/* A program that ended because a module was not there: which, and what package has it. Pure. */
#ifndef DEPS_MISSING_H
#define DEPS_MISSING_H

#include "deps/names.h"

struct deps_missing {
	enum deps_lang lang;
	char module[DEPS_NAME_SIZE];
	char package[DEPS_NAME_SIZE];
};

/* `text` is the end of what it wrote to standard error: hostile, any bytes. False: it says no such
 * thing, or what is missing is in no package of an index. */
bool deps_missing_in(const char *text, size_t len, struct deps_missing *ret);

#endif
