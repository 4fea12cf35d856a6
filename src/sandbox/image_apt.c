/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packages of the distribution. Who installs them has to change /etc, so what the host's programs
 * need of it is put below /host instead, for the driver to copy, with dpkg's database beside it.
 * Who has them installed finds the names of /etc, /var/lib and /opt that came with them as links
 * into the layer: a layer has only the part usr.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/hold.h"
#include "sandbox/plan_int.h"

static const struct {
	const char *from, *name;
	enum sandbox_host since;
} shown[] = {
	{"/var/lib/dpkg", "dpkg", HOST_PACKAGES},
	{"/var/lib/apt/lists", "lists", HOST_SOURCES},
};

void plan_host_places(struct plan *p, const struct sandbox_spec *spec)
{
	char at[32];

	if (!spec->host)
		return;
	plan_mkdir(p, "r/host", 0755, -1);
	plan_mkdir(p, "r/host/etc", 0755, -1);
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		(void)snprintf(at, sizeof(at), "r/host/%s", shown[i].name);
		plan_mkdir(p, at, 0755, -1);
	}
}

/* Out of an overlay, as /etc is: locks do not reach the host's files. */
void plan_host(struct plan *p, const struct sandbox_spec *spec)
{
	char at[32], hidden[32];

	if (spec->host)
		plan_mkdir(p, "nothing", 0555, -1); /* a single layer is refused */
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		if (spec->host < shown[i].since || access(shown[i].from, R_OK | X_OK) < 0)
			continue;
		(void)snprintf(hidden, sizeof(hidden), "h.%s", shown[i].name);
		(void)snprintf(at, sizeof(at), "host/%s", shown[i].name);
		plan_mkdir(p, hidden, 0755, -1);
		plan_one(p, PLAN_LOWER, 0, shown[i].from);
		plan_two(p, PLAN_OVERLAY, STEP_STAGE | STEP_RDONLY, hidden,
			 "lowerdir=@:nothing,userxattr");
		plan_two(p, PLAN_SHOW, STEP_OPTIONAL, hidden, at);
	}
}

bool plan_is_linked(const struct sandbox_spec *spec, const char *name_of_etc)
{
	const char *const *l = spec_has_deps(spec) ? spec->deps.links : NULL;

	for (; l && *l; l++)
		if (strncmp(*l, "etc/", 4) == 0 && strcmp(*l + 4, name_of_etc) == 0)
			return true;
	return false;
}

void plan_links(struct plan *p, const struct sandbox_spec *spec)
{
	const char *const *l = spec_has_deps(spec) ? spec->deps.links : NULL;
	char at[160], to[160];

	if (!l || !*l)
		return;
	plan_mkdir(p, "r/var/lib", 0755, -1);
	plan_mkdir(p, "r/opt", 0755, -1);
	for (; *l; l++) {
		(void)snprintf(at, sizeof(at), "r/%s", *l);
		(void)snprintf(to, sizeof(to), SANDBOX_LINKED "/%s", *l);
		plan_two(p, PLAN_SYMLINK, 0, at, to);
	}
}
