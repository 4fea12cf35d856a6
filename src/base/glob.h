/* SPDX-License-Identifier: Apache-2.0 */
/* Globs, as git has them in .gitignore. Pure. */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include <stdbool.h>

/* path: `*`, `?` and `[...]` never match a slash, and a `**` between slashes, or at an end, matches
 * any number of directories. */
bool glob_match(const char *glob, const char *text, bool path);

/* Is an absolute path what somebody looks for, or below it? `/a/b` is that one, `/a/b/` only what is
 * below it; `b`, `a/b`, `*.csv` and `src/[ab]*` may be anywhere. A name is looked for as it is first, and then as a glob. */
bool glob_finds(const char *want, const char *path);

#endif
