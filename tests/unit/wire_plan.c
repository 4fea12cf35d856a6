/* SPDX-License-Identifier: Apache-2.0 */
/* The plan's format: a block that a spec makes is whole, and every damaged one is refused. */
#include <string.h>

#include "base/fd.h"
#include "sandbox/plan.h"
#include "tap.h"

static const char *const argv[] = {"prog", "one", "", NULL};
static const char *const envp[] = {"A=1", "B=", NULL};

static struct plan *make_parts(plan_give_fn *give, void *with, int expect)
{
	struct sandbox_spec spec = {
		.id = "sbxtest",
		.limits = {.time_ms = 1000,
			   .grace_ms = 100,
			   .cpus_milli = 1000,
			   .memory_bytes = 64 << 20,
			   .pids = 16,
			   .disk_bytes = 1 << 20,
			   .nofile = 64},
		.argv = argv,
		.envp = envp,
		.path = "/usr/bin",
		.workdir = "/home/user",
		.dir_fd = FD_NONE,
	};
	struct plan *p = NULL;
	struct err e = ERR_INIT;

	is_int(plan_new_parts(&spec, give, with, &p, &e), expect,
	       expect ? "nobody takes its first part" : "a plan is made without any privilege");
	return p;
}

static struct plan *make(void)
{
	return make_parts(NULL, NULL, 0);
}

static int position(const struct plan_head *h, enum plan_op op)
{
	for (unsigned i = 0; i < h->n_steps; i++)
		if (h->steps[i].op == op)
			return (int)i;
	return -1;
}

static void whole(void)
{
	struct plan *p = make();
	const struct plan_head *h = plan_block(p);

	is_int(plan_check(h, h->size), 0, "it passes its own check");
	is_int((int)h->argc, 3, "arguments");
	is_int((int)h->envc, 2, "environment");
	is_str(plan_str(h, h->workdir), "/home/user", "working directory");
	ok(position(h, PLAN_PIVOT) > position(h, PLAN_PROC), "the tree is complete before pivot");
	ok(position(h, PLAN_CAPS) > position(h, PLAN_PIVOT), "rights go after the tree is made");
	ok(position(h, PLAN_SECCOMP) > position(h, PLAN_CAPS),
	   "the filter comes after capabilities");
	is_int(position(h, PLAN_SECCOMP), (int)h->n_steps - 2,
	       "and is the last step but the start");
	plan_free(p);
}

struct taken {
	unsigned parts, steps;
	bool whole, looks_at_host;
};

static int take(void *with, const struct plan_head *first, struct err *e)
{
	struct taken *t = with;

	(void)e;
	t->parts++;
	t->steps = first->n_steps;
	t->whole = plan_check(first, first->size) == 0 && (first->flags & PLAN_MORE);
	for (unsigned i = 0; i < first->n_steps; i++)
		t->looks_at_host |= first->steps[i].op == PLAN_OVERLAY ||
				    first->steps[i].op == PLAN_LANDLOCK ||
				    first->steps[i].op == PLAN_PIVOT;
	return 0;
}

static int take_none(void *with, const struct plan_head *first, struct err *e)
{
	(void)with;
	(void)first;
	return err_set(e, ERR_INTERNAL, "nobody is there");
}

/* The guest has something to do while the host is looked at. */
static void in_parts(void)
{
	struct taken t = {0};
	struct plan *all = make(), *rest = make_parts(take, &t, 0);
	const struct plan_head *h = plan_block(rest);

	is_int((int)t.parts, 1, "one part is given away first");
	ok(t.whole && t.steps > 0, "it is a plan by itself, and says that there is more");
	ok(!t.looks_at_host, "nothing that depends on the host is in it, and no right goes");
	is_int((int)(t.steps + h->n_steps), (int)plan_block(all)->n_steps,
	       "both have all the steps of the plan in one");
	is_int(plan_block(all)->steps[t.steps].op, h->steps[0].op, "in the same order");
	ok(!(h->flags & PLAN_MORE) && h->argc == 3, "the command is in the last one");
	ok(!make_parts(take_none, NULL, -EIO), "and there is no plan");
	plan_free(all);
	plan_free(rest);
}

/* A plan without a command is none, unless there is more to come. */
static void no_command(void)
{
	struct plan *p = make();
	struct plan_head *copy = malloc(plan_block(p)->size);

	memcpy(copy, plan_block(p), plan_block(p)->size);
	copy->argc = 0;
	ok(plan_check(copy, copy->size) < 0, "a plan without a command is refused");
	copy->flags |= PLAN_MORE;
	is_int(plan_check(copy, copy->size), 0, "but not its first part");
	free(copy);
	plan_free(p);
}

/* Each 32-bit word of head and steps, damaged in a few ways: refused or harmless, never read
 * outside of the block (the sanitizer build watches). */
static void damaged(void)
{
	static const uint32_t values[] = {0, 1, 0x7fffffff, 0xffffffff, 0xfffffffe};
	struct plan *p = make();
	const struct plan_head *h = plan_block(p);
	char *copy = malloc(h->size);
	size_t top = sizeof(*h) + h->n_steps * sizeof(h->steps[0]);
	unsigned refused = 0;

	for (size_t at = 0; at + 4 <= top; at += 4)
		for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
			memcpy(copy, h, h->size);
			memcpy(copy + at, &values[v], 4);
			refused += plan_check(copy, h->size) < 0;
		}
	diag("%u of %zu damaged blocks were refused", refused, top / 4 * 5);
	ok(refused > top / 4, "damage is noticed");
	for (uint32_t size = 0; size < h->size; size += 97)
		if (plan_check(h, size) == 0)
			is_int((int)size, (int)h->size, "a block that was cut passes");
	free(copy);
	plan_free(p);
}

static void names(void)
{
	for (unsigned i = 0; i < PLAN_OP_COUNT; i++)
		if (!plan_op_name(i) || !plan_op_help(i))
			is_int((int)i, -1, "an operation has no name");
	ok(!plan_op_name(PLAN_OP_COUNT), "no name past the last");
}

int main(void)
{
	TAP_RUN(whole);
	TAP_RUN(in_parts);
	TAP_RUN(no_command);
	TAP_RUN(damaged);
	TAP_RUN(names);
	return tap_done();
}
