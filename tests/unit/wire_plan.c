/* SPDX-License-Identifier: Apache-2.0 */
/* The plan's format: a block that a spec makes is whole, and every damaged one is refused. */
#include <string.h>

#include "base/fd.h"
#include "sandbox/plan.h"
#include "tap.h"

static const char *const argv[] = {"prog", "one", "", NULL};
static const char *const envp[] = {"A=1", "B=", NULL};

static struct plan *make(void)
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

	is_int(plan_new(&spec, &p, &e), 0, "a plan is made without any privilege");
	return p;
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
	TAP_RUN(damaged);
	TAP_RUN(names);
	return tap_done();
}
