/* SPDX-License-Identifier: Apache-2.0 */
/* For plan.c and the files that add steps to a plan. */
#ifndef SANDBOX_PLAN_INT_H
#define SANDBOX_PLAN_INT_H

#include <stdbool.h>

#include "sandbox/plan.h"

/*
 * Steps are collected with string offsets into `text`; plan_finish() puts head, steps and text
 * into one block and moves the offsets. A failed allocation or an overflow is remembered in
 * `error` and reported once, at the end.
 */
struct plan {
	struct plan_step steps[PLAN_STEPS_MAX];
	unsigned n_steps;
	char *text;
	size_t text_len;
	size_t text_cap;
	int error;
	struct plan_head *block;
	plan_give_fn *give; /* for plan_give(), or NULL */
	void *with;
	struct err *give_error;
	bool told; /* it is in there why that failed */
};

/* Give away what there is of the plan, if somebody wants it already; it goes on without. */
void plan_give(struct plan *p);

/* Offset of a copy of the bytes, with a NUL behind them. */
uint32_t plan_text(struct plan *p, const void *data, size_t len);
uint32_t plan_string(struct plan *p, const char *s);
struct plan_step *plan_add(struct plan *p, enum plan_op op, unsigned flags);
/* The usual forms of a step. */
void plan_one(struct plan *p, enum plan_op op, unsigned flags, const char *s);
void plan_two(struct plan *p, enum plan_op op, unsigned flags, const char *s, const char *t);
void plan_num(struct plan *p, enum plan_op op, unsigned flags, int64_t a, uint64_t b);
/* owner: uid and gid inside, or -1 to leave it */
void plan_mkdir(struct plan *p, const char *path, unsigned mode, int owner);
void plan_write(struct plan *p, const char *path, unsigned mode, const void *data, size_t len);

/* image_host.c: the tree of a sandbox with all its mounts, up to PIVOT. */
void plan_image(struct plan *p, const struct sandbox_spec *spec);
/* The file of /etc that a plan writes to `dir`, a directory of the stage. */
void plan_etc_file(struct plan *p, const char *dir, const char *name, const char *text);
/* Files of /etc that are made up anew for every sandbox. */
void plan_etc_names(struct plan *p, const struct sandbox_spec *spec, const char *dir);
/* network.c: the namespace, and what leads out of it. */
void plan_network(struct plan *p, const struct sandbox_spec *spec);
/* Whose a directory of the sandbox's user is in the plan's words. */
int plan_owner(const struct sandbox_spec *spec);
int plan_home_owner(const struct sandbox_spec *spec);
/* image_own.c: what lies on an image that somebody brought, made at `dir` of the stage. */
void plan_own_skeleton(struct plan *p, const struct sandbox_spec *spec, const char *dir);
/* image_layers.c: of a workspace or an image: its layers, one part of them shown at `target` over
 * `base`, and the report of what changed in it. `base` is an absolute path, or @ for what LOWER
 * opened; an image lies below it. */
void plan_layers(struct plan *p, const struct sandbox_spec *spec);
void plan_layer_part(struct plan *p, const struct sandbox_spec *spec, const char *name,
		     const char *base, const char *target);
void plan_layer_keep(struct plan *p, const struct sandbox_spec *spec, const char *name,
		     const char *base, const char *shown);
/* Of layers at rest: the directory of all of them at /v/l, and two views of a part, if there is any
 * of it, at /v/old.PART and /v/new.PART. */
void plan_peek_layers(struct plan *p, const struct sandbox_spec *spec);
void plan_peek_views(struct plan *p, const struct sandbox_spec *spec, const char *name,
		     const char *base);
/* For a tool of ours in a workspace: /v/state, and another view at /v/old.root; their places in the
 * skeleton first, which does not change once something is mounted over it. */
void plan_tool_places(struct plan *p, const struct sandbox_spec *spec);
void plan_tool_views(struct plan *p, const struct sandbox_spec *spec, const char *base);
/* image_git.c: the git directory of /work, where that is elsewhere; and the places for it: those in
 * the skeleton, or (`late`) those in the /tmp of a layered root. */
void plan_git_places(struct plan *p, const struct sandbox_spec *spec, bool layered, bool late);
void plan_git(struct plan *p, const struct sandbox_spec *spec, bool layered);
/* image_host.c: a layer of whiteouts, at `top` of the stage, over `hidden` paths of a directory.
 * False: there are none. */
bool plan_mask(struct plan *p, const struct sandbox_spec *spec, const char *top,
	       const char *const *hidden, int dir);
/* Whose the user's own directories are. */
/* The text of the program below `run`, the place of /run. */
/* pinned_image.c: nothing where spec_loads_pinned() is false. */
void plan_pinned_etc(struct plan *p, const struct sandbox_spec *spec);
void plan_pinned_run(struct plan *p, const struct sandbox_spec *spec, bool layered);
size_t plan_pinned_bytes(const struct sandbox_spec *spec);
/* The directory of the stage in which /tmp and /run are. */
const char *plan_volatile_top(const struct sandbox_spec *spec, bool layered);
void plan_code(struct plan *p, const struct sandbox_spec *spec, const char *run, int owner);
/* level_landlock.c: the whole plan of level `landlock`. */
void plan_host_level(struct plan *p, const struct sandbox_spec *spec);
/* Is this name of /etc on the list of host_etc.def? */
bool etc_is_listed(const char *name);
struct private_paths;
/* image_etc.c: the host's configuration, small files by copy, the rest by bind. */
#define ETC_BINDS_MAX 64u
struct etc_binds {
	char name[ETC_BINDS_MAX][64];
	bool is_dir[ETC_BINDS_MAX];
	unsigned n;
};
/* Files and mount points in the skeleton; what is to be bound is noted. */
void plan_etc(struct plan *p, const struct sandbox_spec *spec, struct etc_binds *ret);
/* `direct`: not out of an overlay, which /etc cannot be a lower of; then nothing is hidden yet. */
void plan_etc_binds(struct plan *p, const struct sandbox_spec *spec, const struct etc_binds *etc,
		    const struct private_paths *hidden, bool direct);
/* image_private.c: paths of a directory of the host that are not for everybody, but would be for a
 * command that this process starts, by its id or its groups. */
#define PRIVATE_MAX 64u
#define PRIVATE_PATH 192u
struct private_paths {
	char path[PRIVATE_MAX][PRIVATE_PATH];
	bool is_dir[PRIVATE_MAX];
	unsigned n;
};
struct host_private {
	struct private_paths etc; /* below what is bound of /etc */
	struct private_paths
		usr; /* in /usr itself and two levels of /usr/local: the rest is too much */
};
/* Where a directory cannot be read, or too much in it is private, it counts as a whole. */
int private_find(const struct sandbox_spec *spec, const struct etc_binds *etc,
		 struct host_private *ret);
/* As whiteouts in a layer at `top` of the stage over the directory `of`, see plan_mask(); or behind
 * empty inodes where no overlay can be: `top` is a place of the new root, and /proc is there. */
bool private_mask(struct plan *p, const struct sandbox_spec *spec, const char *top,
		  const struct private_paths *found, const char *of);
void private_cover(struct plan *p, const char *top, const struct private_paths *found);
/* image_apt.c: of the host, for who installs its distribution's packages (enum sandbox_host); the
 * places first, in the skeleton. */
void plan_host_places(struct plan *p, const struct sandbox_spec *spec);
void plan_host(struct plan *p, const struct sandbox_spec *spec);
/* What leads into layers of such packages, in the skeleton. */
void plan_links(struct plan *p, const struct sandbox_spec *spec);
bool plan_is_linked(const struct sandbox_spec *spec, const char *name_of_etc);
/* confine.c: everything after PIVOT: limits, Landlock, ids, capabilities, seccomp. */
/* The same for the zygote, whose forks need what it may not give up. */
void plan_zygote(struct plan *p, const struct sandbox_spec *spec);
void plan_confine(struct plan *p, const struct sandbox_spec *spec);
void plan_rlimits(struct plan *p, const struct sandbox_spec *spec);
void plan_allow(struct plan *p, const char *path, uint64_t access, unsigned flags);
void plan_filter(struct plan *p, const struct sandbox_spec *spec);
/* The capabilities of a command, all that it has. */
uint64_t plan_caps(const struct sandbox_spec *spec);

#endif
