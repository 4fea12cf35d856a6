/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/host_runs.h"

#include <fnmatch.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define PATH_BYTES 4200u

static const struct {
	const char *pattern, *why;
} table[] = {
#define RUNS(pattern, why) {pattern, why},
#include "engine/host_runs.def"
#undef RUNS
};

static bool fits(const char *pattern, const char *path)
{
	const char *last = strrchr(path, '/');
	const char *at = strchr(pattern, '/') || !last ? path : last + 1;

	while (at) {
		if (fnmatch(pattern, at, FNM_CASEFOLD | FNM_NOESCAPE) == 0)
			return true;
		at = strchr(at, '/');
		at = at ? at + 1 : NULL;
	}
	return false;
}

static const char *look_up(const char *path)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (fits(table[i].pattern, path))
			return table[i].why;
	return NULL;
}

const char *host_runs(const char *path, bool link)
{
	char below[PATH_BYTES];
	const char *why = look_up(path);

	if (why || !link)
		return why;
	/* .git/hooks itself as a link is as good as every hook. */
	(void)snprintf(below, sizeof(below), "%s/x", path);
	return look_up(below);
}
