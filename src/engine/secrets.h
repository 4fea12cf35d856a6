/* SPDX-License-Identifier: Apache-2.0 */
/* Files of --dir that look like secrets. The list is in secrets.def. */
#ifndef ENGINE_SECRETS_H
#define ENGINE_SECRETS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define SECRETS_MAX 256u
#define SECRET_NAMED "named by --hide" /* what the caller hides is no secret yet */
#define SECRET_MOUNTED "another filesystem is mounted there"

struct secrets {
	unsigned n;
	char *path[SECRETS_MAX + 1]; /* relative, in the order of a walk; owned; ends with NULL */
	const char *what[SECRETS_MAX + 1]; /* of each */
};

/* Patterns of the caller's, or NULL; `show` counts more. One that ends with a slash shows all that
 * is in a directory, and nobody looks there. */
struct secrets_said {
	const char *const *hide, *const *show;
};

/* All of them, or an error. */
int secrets_find(int dir, const struct secrets_said *said, struct secrets *ret, struct err *e);
/* The same in a directory that is somebody's .git, with ".git/" before each path; of its objects,
 * which may be any number, nothing. */
int secrets_find_git(int dir, const struct secrets_said *said, struct secrets *ret, struct err *e);
void secrets_done(struct secrets *s);

/* What a path of that directory looks like, or a directory on the way to it; NULL: like no
 * secret. */
const char *secrets_what(int dir, const char *path, const struct secrets_said *said);

/* The same of `name` in its directory alone, which is `path` below the top. */
const char *secrets_of(int dir, const char *name, const char *path,
		       const struct secrets_said *said);
/* Does a pattern fit? `whole`: of those with a slash at the end. */
bool secrets_listed(const char *const *list, const char *path, bool whole);
/* A pattern without "./" before it and slashes behind it. True: it had one. */
bool secrets_pattern(const char *pattern, char *ret, size_t size);

#endif
