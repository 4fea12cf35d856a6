/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARCHIVE_ROOT_H
#define ARCHIVE_ROOT_H

#include <stdbool.h>

#include "base/err.h"

/*
 * Make a root file system that came in one that sandboxes can be made on: with every name that
 * sandbox/image_own.c puts on it, directories where we mount, and a user 1000 called `user` beside
 * those that it has. `owners`: files may belong to others than the caller.
 */
int root_complete(int root, bool owners, struct err *e);

#endif
