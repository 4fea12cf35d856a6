/* SPDX-License-Identifier: Apache-2.0 */
/* Paths below a directory that others may change meanwhile: no link on the way is followed, no
 * mount crossed, and there is no way out. */
#ifndef APPLY_BENEATH_H
#define APPLY_BENEATH_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"

/* A directory, open for reading; -1 with errno. */
int beneath_dir(int dir, const char *path);
/* The directory that holds `path`, open for reading; *ret_name is its last component. */
int beneath_parent(int dir, const char *path, int *ret_fd, const char **ret_name, struct err *e);
/* What is there. Nothing, too, where the way to it is not one of directories: st_mode 0. */
int beneath_look(int dir, const char *path, struct stat *ret, struct err *e);

/* Does a link at `path` with this target stay below the directory? Only targets that begin with all
 * their ".." are believed: behind another name that may lead through a link. Pure. */
bool beneath_target(const char *path, const char *target);

#endif
