/* SPDX-License-Identifier: Apache-2.0 */
/* The user's own table of names, in the configuration directory. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

#include "base/fd.h"
#include "deps/table.h"
#include "egress/source.h"
#include "engine/deps_int.h"

/* One that others could have written would say what is installed. */
static int read_table(char **ret, size_t *ret_len, char path[PATH_MAX + 16], struct err *e)
{
	char dir[PATH_MAX];
	struct err none = ERR_INIT; /* without a place there is no table */

	if (source_config_dir(dir, &none) < 0)
		return -ENOENT;
	(void)snprintf(path, PATH_MAX + 16, "%s/" TABLE_NAME, dir);
	return source_read(AT_FDCWD, path, SOURCE_SELF, ret, ret_len, e);
}

int deps_table(struct hash *h, struct err *e)
{
	auto_free char *text = NULL;
	char path[PATH_MAX + 16] = TABLE_NAME;
	size_t len = 0;
	int r = read_table(&text, &len, path, e);

	if (r < 0 && r != -ENOENT)
		return r;
	if (h)
		hash_add(h, text ? text : "", len);
	return table_set(text ? text : "", len, path, e);
}
