/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_SECRETS_OWN_H
#define ENGINE_SECRETS_OWN_H

#include <stdbool.h>
#include <sys/stat.h>

#define SECRET_OWN "pinfold's own files and keys"

/* The directories of this process's user that are there. */
struct secrets_own {
	unsigned n;
	struct {
		dev_t dev;
		ino_t ino;
	} at[2];
};

void secrets_own_find(struct secrets_own *ret);
bool secrets_own_is(const struct secrets_own *o, const struct stat *st);

#endif
