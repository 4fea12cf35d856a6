/* SPDX-License-Identifier: Apache-2.0 */
/* Names and checks of the plan's format. Freestanding: the guest links it too. */
#include "wire/plan.h"

#include <errno.h>
#include <stddef.h>

static const char *const names[PLAN_OP_COUNT] = {
#define PLAN_OP_NAME(id, name, help) name,
	PLAN_OPS(PLAN_OP_NAME)
#undef PLAN_OP_NAME
};

static const char *const helps[PLAN_OP_COUNT] = {
#define PLAN_OP_HELP(id, name, help) help,
	PLAN_OPS(PLAN_OP_HELP)
#undef PLAN_OP_HELP
};

const char *plan_op_name(unsigned op)
{
	return op < PLAN_OP_COUNT ? names[op] : NULL;
}

const char *plan_op_help(unsigned op)
{
	return op < PLAN_OP_COUNT ? helps[op] : NULL;
}

static int check_str(const struct plan_head *head, uint32_t off)
{
	const char *base = (const char *)head;

	if (off == 0)
		return 0;
	if (off < sizeof(*head) || off >= head->size)
		return -EINVAL;
	for (uint32_t i = off; i < head->size; i++)
		if (base[i] == '\0')
			return 0;
	return -EINVAL;
}

static int check_step(const struct plan_head *head, const struct plan_step *step)
{
	if (step->op >= PLAN_OP_COUNT || check_str(head, step->s) < 0)
		return -EINVAL;
	if (step->len == 0)
		return check_str(head, step->t);
	if (step->t < sizeof(*head) || step->t > head->size || step->len > head->size - step->t)
		return -EINVAL;
	return 0;
}

static int check_vector(const struct plan_head *head, uint32_t off, uint32_t count)
{
	if (count > PLAN_ARGS_MAX || off % sizeof(uint32_t) != 0)
		return -EINVAL;
	if (count == 0)
		return 0;
	if (off < sizeof(*head) || off > head->size ||
	    (head->size - off) / sizeof(uint32_t) < count)
		return -EINVAL;
	const uint32_t *v = (const uint32_t *)(const void *)((const char *)head + off);
	for (uint32_t i = 0; i < count; i++)
		if (v[i] == 0 || check_str(head, v[i]) < 0)
			return -EINVAL;
	return 0;
}

int plan_check(const void *block, uint32_t size)
{
	const struct plan_head *head = block;

	if (size < sizeof(*head) || head->magic != PLAN_MAGIC || head->version != PLAN_VERSION ||
	    head->size != size || head->n_steps > PLAN_STEPS_MAX ||
	    (size - sizeof(*head)) / sizeof(head->steps[0]) < head->n_steps)
		return -EINVAL;
	for (uint32_t i = 0; i < head->n_steps; i++)
		if (check_step(head, &head->steps[i]) < 0)
			return -EINVAL;
	if ((head->argc == 0 && !(head->flags & PLAN_MORE)) ||
	    check_vector(head, head->argv, head->argc) < 0 ||
	    check_vector(head, head->envp, head->envc) < 0)
		return -EINVAL;
	if (check_str(head, head->workdir) < 0 || check_str(head, head->path) < 0)
		return -EINVAL;
	return 0;
}
