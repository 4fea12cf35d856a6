/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names in a tree that others write to. A path is split into its directory, which is opened below
 * the root without following any link, and its last name, which is used with that descriptor only.
 * The directory that was opened last is kept: paths come in the order of a walk.
 */
#ifndef SYNC_PLACE_H
#define SYNC_PLACE_H

#include <sys/stat.h>

#include "base/err.h"
#include "sync/manifest.h"

struct place {
	int root; /* borrowed */
	int fd;	  /* of `dir`, O_PATH; or -errno of opening it */
	char dir[MANIFEST_PATH_MAX + 1];
};

void place_init(struct place *p, int root);
void place_done(struct place *p);
#define auto_place __attribute__((cleanup(place_done)))

/* The directory of `path` and its last name. A descriptor that stays ours, or -errno: -ENOENT,
 * -ENOTDIR and -ELOOP say that there is no such directory. */
int place_at(struct place *p, const char *path, const char **ret_name);
/* Forget what was opened: a directory was made or removed. */
void place_forget(struct place *p);
bool place_is_missing(int error);

/* Permission bits of what `name` is, if it is no link. 0 or -errno. */
int place_set_mode(int dir, const char *name, unsigned mode);
/* Let the owner, us, write to the directory. 0 or -errno. */
int place_unlock(int dir);
/* Remove a name and all below it. 0 or -errno. */
int place_remove(int dir, const char *name);

#endif
