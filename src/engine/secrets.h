/* SPDX-License-Identifier: Apache-2.0 */
/* Files of --dir that look like secrets. The list is in secrets.def. */
#ifndef ENGINE_SECRETS_H
#define ENGINE_SECRETS_H

#include <stdbool.h>

#include "base/err.h"

#define SECRETS_MAX 256u

struct secrets {
	unsigned n;
	char *path[SECRETS_MAX + 1];	   /* relative; owned; ends with NULL */
	const char *what[SECRETS_MAX + 1]; /* of each */
	bool beyond;			   /* the directory was not searched whole */
};

/* `hide` and `show` are patterns of the caller's, or NULL; `show` counts more. */
int secrets_find(int dir, const char *const *hide, const char *const *show, struct secrets *ret,
		 struct err *e);
/* The same in a directory that is somebody's .git, with ".git/" before each path; of its objects,
 * which may be any number, nothing. */
int secrets_find_git(int dir, const char *const *hide, const char *const *show, struct secrets *ret,
		     struct err *e);
void secrets_done(struct secrets *s);

/* What a path of that directory looks like, or a directory on the way to it; NULL: like no secret. */
const char *secrets_what(int dir, const char *path);

#endif
