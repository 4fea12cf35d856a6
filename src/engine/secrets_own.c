/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where pinfold keeps what is its own: the data directory has the ledger's private key and all
 * workspaces, the configuration directory the key of the vault. Somebody who shows his home
 * directory to an agent means neither. They are known by what they are, not by a name: both may be
 * anywhere.
 */
#include "engine/secrets_own.h"

#include <limits.h>

#include "base/err.h"
#include "egress/source.h"
#include "warden/place.h"

static void add(struct secrets_own *o, const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		o->at[o->n].dev = st.st_dev;
		o->at[o->n++].ino = st.st_ino;
	}
}

void secrets_own_find(struct secrets_own *ret)
{
	struct err none = ERR_INIT;
	char path[PATH_MAX];

	*ret = (struct secrets_own){0};
	/* Where there is no place for them, there is nothing of them. */
	if (place_data(path, sizeof(path), &none) >= 0)
		add(ret, path);
	if (source_config_dir(path, &none) >= 0)
		add(ret, path);
}

bool secrets_own_is(const struct secrets_own *o, const struct stat *st)
{
	for (unsigned i = 0; i < o->n; i++)
		if (o->at[i].dev == st->st_dev && o->at[i].ino == st->st_ino)
			return true;
	return false;
}
