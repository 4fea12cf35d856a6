/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Level `landlock` has no tree of its own: the command gets a private directory of the host as its
 * home, written down in the journal before it is made and removed with the run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/run_int.h"
#include "warden/place.h"

static int set_env(struct request *r, const char *key, const char *value, struct err *e)
{
	size_t n = strlen(key);
	char *entry = NULL;

	if (asprintf(&entry, "%s=%s", key, value) < 0)
		return err_set(e, ERR_INTERNAL, "out of memory");
	for (unsigned i = 0; i < r->n_env; i++)
		if (strncmp(r->env[i], key, n) == 0 && r->env[i][n] == '=') {
			free(r->env[i]);
			r->env[i] = entry;
			return 0;
		}
	r->env[r->n_env++] = entry; /* room was kept for these */
	return 0;
}

int scratch_name(struct pinfold_run *run, struct err *e)
{
	char dir[256];
	struct request *r = &run->req;

	if (r->spec.level != LEVEL_LANDLOCK)
		return 0;
	/* Root's own directory is closed to the id that the command gets. */
	if (r->spec.ids.range)
		(void)snprintf(dir, sizeof(dir), "/run/pinfold");
	else if (place_runtime(dir, sizeof(dir) - 40, e) < 0)
		return -ENOENT;
	(void)snprintf(run->live.scratch, sizeof(run->live.scratch), "%s-home-%s", dir, r->spec.id);
	r->spec.host_home = run->live.scratch;
	if (strcmp(r->spec.workdir, "/home/user") == 0)
		r->spec.workdir = run->live.scratch;
	char cache[400];
	(void)snprintf(cache, sizeof(cache), "%s/.cache", run->live.scratch);
	if (set_env(r, "HOME", run->live.scratch, e) < 0 ||
	    set_env(r, "TMPDIR", run->live.scratch, e) < 0 ||
	    set_env(r, "XDG_CACHE_HOME", cache, e) < 0 ||
	    set_env(r, "PIP_CACHE_DIR", cache, e) < 0 ||
	    set_env(r, "npm_config_cache", cache, e) < 0)
		return -ENOMEM;
	return 0;
}
