/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The git directory of a worktree or submodule, where its file .git leads to: copy-on-write, as
 * /work is. What is written to it goes with the sandbox; in a workspace, whose commands would miss
 * what others wrote, it is read-only.
 */
#include <stdio.h>
#include <string.h>

#include "sandbox/attach.h"
#include "sandbox/hold.h"
#include "sandbox/plan_int.h"

#define MASKED (HOLD_SYS ? "/sys/kg:@" : "/mnt/kg:@")
#define PLACE (HOLD_SYS ? "/sys" : "/mnt") /* of the stage */
#define TMP "/tmp/"

/* What the skeleton has already. */
static bool is_there(const char *path, size_t len)
{
	static const char *const there[] = {"/home", "/home/user", "/root", "/tmp", "/var"};

	for (size_t i = 0; i < sizeof(there) / sizeof(there[0]); i++)
		if (strlen(there[i]) == len && memcmp(there[i], path, len) == 0)
			return true;
	return false;
}

/* Directories on the way to `path`, and itself if it is one; those that `before` has are there. */
static void plan_way(struct plan *p, const char *root, const char *path, const char *before,
		     bool whole)
{
	char at[4200];

	for (size_t n = 1; path[n - 1]; n++) {
		if ((path[n] && path[n] != '/') || (!path[n] && !whole) || is_there(path, n) ||
		    (before && strncmp(before, path, n) == 0 && (before[n] == '/' || !before[n])))
			continue;
		(void)snprintf(at, sizeof(at), "%s%.*s", root, (int)n, path);
		plan_mkdir(p, at, 0755, -1);
	}
}

/* /tmp of a layered root or of a volume is no part of it, and is there later. */
static bool is_late(const struct sandbox_spec *spec, const char *path, bool layered)
{
	return (layered || spec->on_volume) && strncmp(path, TMP, strlen(TMP)) == 0;
}

void plan_git_places(struct plan *p, const struct sandbox_spec *spec, bool layered, bool late)
{
	const struct sandbox_git *git = &spec->git;
	const char *root = late ? plan_volatile_top(spec, layered) : "r", *before = NULL;
	char at[4200];

	if (!git->path)
		return;
	if (is_late(spec, git->inside, layered) == late) {
		plan_way(p, root, git->inside, NULL, true);
		before = git->inside;
	}
	if (git->link && is_late(spec, git->link, layered) == late) {
		plan_way(p, root, git->link, before, false);
		(void)snprintf(at, sizeof(at), "%s%s", root, git->link);
		plan_two(p, PLAN_SYMLINK, 0, at, "/work");
	}
}

void plan_git(struct plan *p, const struct sandbox_spec *spec, bool layered)
{
	const struct sandbox_git *git = &spec->git;
	char text[128];

	if (!git->path)
		return;
	plan_git_places(p, spec, layered, true);
	if (git->attached) {
		plan_mkdir(p, "l.git", 0755, -1);
		plan_one(p, PLAN_ATTACH, 0, "l.git");
		p->steps[p->n_steps - 1].a = ATTACH_GIT;
	}
	struct plan_step *step = plan_add(p, PLAN_LOWER, 0);
	step->s = plan_string(p, git->attached ? "l.git" : git->path);
	step->a = (int64_t)git->dev;
	step->b = git->ino;
	bool masked = plan_mask(p, spec, "kg", git->hidden, git->fd);
	plan_mkdir(p, "u.git", 0755, plan_owner(spec));
	plan_mkdir(p, "w.git", 0755, -1);
	(void)snprintf(text, sizeof(text),
		       "lowerdir=%s,upperdir=%s/u.git,workdir=%s/w.git,userxattr",
		       masked ? MASKED : "@", PLACE, PLACE);
	plan_two(p, PLAN_OVERLAY, spec_in_workspace(spec) ? STEP_RDONLY : 0, git->inside + 1, text);
}
