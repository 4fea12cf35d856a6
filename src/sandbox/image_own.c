/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What we put on an image that somebody brought: the places of our own mounts, the user's home, and
 * the files of /etc that tell a program where it is. It lies on the image as a lower of the same
 * overlay, so a directory here hides whatever the image has in its place, a link or a file: nothing
 * of ours is ever mounted where an image says. Nothing of the host is in it.
 *
 * An image has all these names (archive/root.c sees to that when it comes in), so that what a
 * workspace removed of them is known to be something that lies below.
 */
#include <stdio.h>

#include "sandbox/plan_int.h"
#include "sandbox/synthetic.h"

static void plan_dir(struct plan *p, const char *dir, const char *name, unsigned mode, int owner)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	plan_mkdir(p, path, mode, owner);
}

void plan_own_skeleton(struct plan *p, const struct sandbox_spec *spec, const char *dir)
{
	static const char *const dirs[] = {"proc", "dev", "sys", "home", "var", "etc"};
	char path[64];

	plan_mkdir(p, dir, 0755, -1);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		plan_dir(p, dir, dirs[i], 0755, -1);
	plan_dir(p, dir, "home/user", 0755, plan_home_owner(spec));
	plan_dir(p, dir, "tmp", 01777, -1);
	plan_dir(p, dir, "run", 0755, plan_owner(spec));
	(void)snprintf(path, sizeof(path), "%s/var/tmp", dir);
	plan_two(p, PLAN_SYMLINK, 0, path, "/tmp");
	plan_etc_names(p, spec, dir);
	if (spec->peek)
		return;
	if (spec->dir_fd >= 0)
		plan_dir(p, dir, "work", 0755, -1);
	plan_tool_places(p, spec);
}
