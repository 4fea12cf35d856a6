/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layers of a workspace in the tree of image_host.c: each part is an overlay whose upper is on
 * disk and whose lowers are the frozen layers, over what the part lies over in a fresh sandbox. An
 * image is the lowest of all, below what we put on it; without a workspace the upper is in the
 * stage.
 *
 * `volatile`: nothing inside waits for the disk, nor does the end of the sandbox. The store sees to
 * it that what was acknowledged is there after a power cut.
 */
#include <stdio.h>
#include <string.h>

#include "sandbox/attach.h"
#include "sandbox/hold.h"
#include "sandbox/plan_int.h"

/* The kernel takes 255 bytes for the value of an option. */
#define LOWERS_SIZE 256u
#define PLACE (HOLD_SYS ? "/sys" : "/mnt") /* of the stage */
#define NOTHING (HOLD_SYS ? "/sys/none" : "/mnt/none")

struct part {
	const char *name;
	uint32_t bit;
};

static struct part part_named(const char *name)
{
	static const struct part parts[] = {
		{"root", LAYER_ROOT}, {"usr", LAYER_USR}, {"work", LAYER_WORK}};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strcmp(parts[i].name, name) == 0)
			return parts[i];
	return parts[0];
}

/* What lies below all other layers of a part: packages, then `base`. */
static int put_base(const struct sandbox_deps *deps, struct part part, const char *colon,
		    const char *base, char *out, size_t size)
{
	int n = 0;

	for (unsigned i = 0; deps && part.bit == LAYER_USR && i < deps->n && n < (int)size; i++) {
		n += snprintf(out + n, size - (size_t)n, "%s%u/usr", colon, deps->number[i]);
		colon = ":";
	}
	if (n < (int)size)
		n += snprintf(out + n, size - (size_t)n, "%s%s", colon, base);
	return n;
}

/* "7/usr:3/usr:" and so on, then what lies below them, then an image: what we put there is on top
 * of whatever it has in the same place. `deps` may be NULL. Returns how many layers there are. */
static unsigned put_lowers(struct plan *p, const struct sandbox_layers *l,
			   const struct sandbox_deps *deps, struct part part, const char *base,
			   char out[LOWERS_SIZE])
{
	const char *colon = "";
	unsigned count = 0;
	int n = 0;

	for (unsigned i = 0; i <= l->n && n < (int)LOWERS_SIZE; i++) {
		const struct sandbox_layer *at = &l->lower[i];
		bool image = i < l->n && (at->parts & LAYER_IMAGE);

		if (i < l->n && !(at->parts & part.bit))
			continue;
		if (base && (i == l->n || image)) {
			n += put_base(deps, part, colon, base, out + n, LOWERS_SIZE - (size_t)n);
			base = NULL;
			colon = ":";
		}
		if (i == l->n || n >= (int)LOWERS_SIZE)
			continue;
		n += snprintf(out + n, LOWERS_SIZE - (size_t)n, "%s%u/%s", colon, at->number,
			      part.name);
		colon = ":";
		count++;
	}
	if (n >= (int)LOWERS_SIZE)
		p->error = p->error ? p->error : -E2BIG;
	return count;
}

/* Layers that came one by one lie where they would be in the directory of all. */
static void plan_given(struct plan *p, const struct sandbox_spec *spec)
{
	const struct sandbox_deps *deps = &spec->deps;
	char at[32];

	for (unsigned i = 0; i < spec_given(spec); i++) {
		uint32_t number = deps->n ? deps->number[i] : spec->layers.lower[i].number;

		(void)snprintf(at, sizeof(at), "l/%u", number);
		plan_mkdir(p, at, 0755, -1);
		(void)snprintf(at, sizeof(at), "l/%u/%s", number, deps->n ? "usr" : "root");
		plan_mkdir(p, at, 0755, -1);
		plan_one(p, PLAN_ATTACH, 0, at);
		p->steps[p->n_steps - 1].a = ATTACH_DEPS + (int)i;
	}
}

void plan_layers(struct plan *p, const struct sandbox_spec *spec)
{
	const struct sandbox_layers *l = &spec->layers;

	if (!l->upper && !spec->peek && !spec_on_image(spec) && !spec_has_deps(spec))
		return;
	bool attached = l->attached || spec->deps.attached;
	if (attached)
		plan_mkdir(p, "l", 0755, -1);
	if (l->attached) {
		plan_one(p, PLAN_ATTACH, 0, "l");
		p->steps[p->n_steps - 1].a = ATTACH_LAYERS;
	}
	if (spec->deps.attached)
		plan_given(p, spec);
	struct plan_step *step = plan_add(p, PLAN_LAYERS, 0);
	step->s = plan_string(p, attached ? "l" : l->path);
	/* Our own clone needs no second look. */
	step->a = attached ? 0 : (int64_t)l->dev;
	step->b = attached ? 0 : l->ino;
}

void plan_layer_part(struct plan *p, const struct sandbox_spec *spec, const char *name,
		     const char *base, const char *target)
{
	const struct sandbox_layers *l = &spec->layers;
	char lowers[LOWERS_SIZE], text[LOWERS_SIZE + 128];

	(void)put_lowers(p, l, &spec->deps, part_named(name), base, lowers);
	if (!l->upper || (strcmp(name, "usr") == 0 && !spec->as_root)) {
		char made[32];

		/* Nothing can be written there, or it is not to last: nothing has to be kept. */
		(void)snprintf(made, sizeof(made), "u.%s", name);
		plan_mkdir(p, made, 0755, -1);
		(void)snprintf(made, sizeof(made), "w.%s", name);
		plan_mkdir(p, made, 0755, -1);
		(void)snprintf(text, sizeof(text),
			       "lowerdir=%s,upperdir=%s/u.%s,workdir=%s/w.%s,userxattr", lowers,
			       PLACE, name, PLACE, name);
	} else {
		(void)snprintf(text, sizeof(text),
			       "lowerdir=%s,upperdir=%u/%s,workdir=%u/w.%s,userxattr,volatile",
			       lowers, l->upper, name, l->upper, name);
	}
	plan_two(p, PLAN_OVERLAY, STEP_OWN | STEP_LAYERS, target, text);
}

/* What was there before, to compare with: the lowers alone, mounted where nobody sees them. */
void plan_layer_keep(struct plan *p, const struct sandbox_spec *spec, const char *name,
		     const char *base, const char *shown)
{
	const struct sandbox_layers *l = &spec->layers;
	char lowers[LOWERS_SIZE], text[LOWERS_SIZE + 32], before[32];

	const struct sandbox_deps *deps = &spec->deps;
	bool any = put_lowers(p, l, deps, part_named(name), base, lowers) > 0 ||
		   (deps->n && strcmp(name, "usr") == 0);

	if (spec->collect && any) {
		(void)snprintf(before, sizeof(before), "b.%s", name);
		plan_mkdir(p, before, 0755, -1);
		(void)snprintf(text, sizeof(text), "lowerdir=%s,userxattr", lowers);
		plan_two(p, PLAN_OVERLAY, STEP_STAGE | STEP_RDONLY | STEP_LAYERS, before, text);
		plan_one(p, PLAN_LOWER, 0, before);
	} else if (strcmp(base, "@") != 0) {
		plan_one(p, PLAN_LOWER, 0, base);
	}
	if (l->upper)
		(void)snprintf(text, sizeof(text), "%u/%s", l->upper, name);
	else
		(void)snprintf(text, sizeof(text), "u.%s", name);
	plan_two(p, PLAN_KEEP, STEP_KEEP_FD | (l->upper ? STEP_LAYERS : 0), text, shown);
}

/* One of the two views of a part, read-only, over `base` or (NULL) over nothing. Always over
 * something empty, too: an overlay without an upper needs two. */
static void plan_view(struct plan *p, const struct sandbox_layers *l, const char *side,
		      const char *name, const char *base)
{
	char lowers[LOWERS_SIZE], text[LOWERS_SIZE + 64], at[32];

	(void)put_lowers(p, l, NULL, part_named(name), base ? base : NOTHING, lowers);
	(void)snprintf(text, sizeof(text), "lowerdir=%s%s%s,userxattr", lowers, base ? ":" : "",
		       base ? NOTHING : "");
	(void)snprintf(at, sizeof(at), "v/%s.%s", side, name);
	plan_two(p, PLAN_OVERLAY, STEP_OWN | STEP_RDONLY | STEP_LAYERS, at, text);
}

static void plan_view_place(struct plan *p, const char *side, const char *name)
{
	char at[32];

	(void)snprintf(at, sizeof(at), "r/v/%s.%s", side, name);
	plan_mkdir(p, at, 0755, -1);
}

void plan_peek_views(struct plan *p, const struct sandbox_spec *spec, const char *name,
		     const char *base)
{
	if (spec->peek != PEEK_LOOK || !spec_sees(spec, part_named(name).bit))
		return;
	if (!spec->bare) {
		plan_view_place(p, "old", name);
		plan_view(p, &spec->before, "old", name, base);
	}
	plan_view_place(p, "new", name);
	plan_view(p, &spec->layers, "new", name, spec->bare ? NULL : base);
}

void plan_peek_layers(struct plan *p, const struct sandbox_spec *spec)
{
	unsigned flags = STEP_OWN | (spec->peek == PEEK_MERGE ? 0 : STEP_RDONLY);

	if (!spec->peek)
		return;
	plan_mkdir(p, "none", 0755, -1);
	plan_mkdir(p, "r/v", 0755, -1);
	plan_mkdir(p, "r/v/l", 0755, -1);
	plan_two(p, spec->layers.attached ? PLAN_BIND_STAGE : PLAN_BIND_HOST, flags,
		 spec->layers.attached ? "l" : spec->layers.path, "v/l");
	if (spec->peek == PEEK_COPY) {
		char out[4200];

		(void)snprintf(out, sizeof(out), "%s/%u",
			       spec->layers.attached ? "l" : spec->layers.path, spec->layers.upper);
		plan_mkdir(p, "r/v/out", 0755, -1);
		plan_two(p, spec->layers.attached ? PLAN_BIND_STAGE : PLAN_BIND_HOST, STEP_OWN, out,
			 "v/out");
	}
}

void plan_tool_places(struct plan *p, const struct sandbox_spec *spec)
{
	if (!spec_in_workspace(spec) || !spec->state.path)
		return;
	plan_mkdir(p, "none", 0755, -1);
	plan_mkdir(p, "r/v", 0755, -1);
	plan_mkdir(p, "r/v/state", 0755, -1);
	plan_view_place(p, "old", "root");
	if (spec->state.attached) {
		plan_mkdir(p, "state", 0755, -1);
		plan_one(p, PLAN_ATTACH, 0, "state");
		p->steps[p->n_steps - 1].a = ATTACH_STATE;
	}
}

void plan_tool_views(struct plan *p, const struct sandbox_spec *spec, const char *base)
{
	if (!spec_in_workspace(spec) || !spec->state.path)
		return;
	plan_two(p, spec->state.attached ? PLAN_BIND_STAGE : PLAN_BIND_HOST, 0,
		 spec->state.attached ? "state" : spec->state.path, "v/state");
	if (spec->before.n)
		plan_view(p, &spec->before, "old", "root", base);
}
