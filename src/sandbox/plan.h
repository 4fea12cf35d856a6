/* SPDX-License-Identifier: Apache-2.0 */
/* From a spec to the list of steps that the guest walks. Pure but for looking at which optional
 * host paths exist, and at their modes; nothing is made but a note of those (spec->runtime). */
#ifndef SANDBOX_PLAN_H
#define SANDBOX_PLAN_H

#include "base/err.h"
#include "sandbox/spec.h"
#include "wire/plan.h"

/* What an AWAIT step waits for. */
enum plan_await { AWAIT_CGROUP = 1 };

struct plan;

/* The plan of `spec`; the caller frees it with plan_free(). The spec may go away afterwards. */
int plan_new(const struct sandbox_spec *spec, struct plan **ret, struct err *e);
/* The same in two: the first steps are given away as a plan of their own (PLAN_MORE) before the host
 * is looked at for the others, so that the guest has something to do meanwhile. */
typedef int plan_give_fn(void *with, const struct plan_head *first, struct err *e);
int plan_new_parts(const struct sandbox_spec *spec, plan_give_fn *give, void *with,
		   struct plan **ret, struct err *e);
/* The second plan, for a sandbox that was made with spec->warm: its program and command. */
int plan_new_claim(const struct sandbox_spec *spec, struct plan **ret, struct err *e);
void plan_free(struct plan *p);

/* The finished block (see wire/plan.h), owned by the plan. */
const struct plan_head *plan_block(const struct plan *p);

/* Does this name of /etc show inside with image `host`: listed, or made up? */
bool etc_is_shown(const char *name);
/* Are other filesystems mounted somewhere below these directories of the host? Then overlayfs,
 * which does not look into them, has to do without. */
struct below {
	bool etc, usr;
};
struct below mounts_below(void);

#endif
