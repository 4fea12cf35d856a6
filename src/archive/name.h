/* SPDX-License-Identifier: Apache-2.0 */
/* Names in archives. Pure. */
#ifndef ARCHIVE_NAME_H
#define ARCHIVE_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "tree/path.h"

/* The path that `raw` means, without "./", "//" and a slash at its end; "" is the top itself.
 * Refuses what is absolute, has a component "..", or could be no path in a tree. */
int name_clean(const char *raw, char ret[TREE_PATH_MAX + 1], struct err *e);

/* In a layer of an image: .wh.NAME means that NAME is gone, .wh..wh..opq that all that lower layers
 * have in its directory is; other .wh..wh.* are notes of other tools. */
enum name_mark { NAME_PLAIN, NAME_GONE, NAME_OPAQUE, NAME_NOTE };

/* With NAME_GONE `path` becomes what is gone, with NAME_OPAQUE the directory. */
enum name_mark name_mark(char *path);
/* Would it be taken for such a mark? `name` is one component. */
bool name_is_mark(const char *name);

/* May an archive that begins with this name be an image? */
bool name_may_be_image(const char *path);

#endif
