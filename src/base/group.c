/* SPDX-License-Identifier: Apache-2.0 */
#include "base/group.h"

#include <stdio.h>
#include <string.h>

gid_t group_find(const char *name)
{
	char line[1024];
	size_t n = strlen(name);
	unsigned gid = (unsigned)-1;
	FILE *f = fopen("/etc/group", "re");

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, name, n) == 0 && line[n] == ':' &&
		    sscanf(line, "%*[^:]:%*[^:]:%u", &gid) == 1)
			break;
	if (f)
		(void)fclose(f); /* only read */
	return (gid_t)gid;
}
