/* SPDX-License-Identifier: Apache-2.0 */
/* Builds plans: the mechanics of the block, and the order of the whole. */
#include "sandbox/plan_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "sandbox/hold.h"

uint32_t plan_text(struct plan *p, const void *data, size_t len)
{
	size_t need = p->text_len + len + 1;

	if (p->error || need > PLAN_SIZE_MAX / 2) {
		p->error = p->error ? p->error : -E2BIG;
		return 0;
	}
	if (need > p->text_cap) {
		size_t cap = p->text_cap ? p->text_cap * 2 : 16384;
		while (cap < need)
			cap *= 2;
		char *bigger = realloc(p->text, cap);
		if (!bigger) {
			p->error = -ENOMEM;
			return 0;
		}
		p->text = bigger;
		p->text_cap = cap;
	}
	uint32_t at = (uint32_t)p->text_len;
	if (len > 0)
		memcpy(p->text + at, data, len);
	p->text[at + len] = '\0';
	p->text_len = need;
	return at;
}

uint32_t plan_string(struct plan *p, const char *s)
{
	return s ? plan_text(p, s, strlen(s)) : 0;
}

struct plan_step *plan_add(struct plan *p, enum plan_op op, unsigned flags)
{
	static struct plan_step sink;

	if (p->n_steps == PLAN_STEPS_MAX) {
		p->error = p->error ? p->error : -E2BIG;
		return &sink;
	}
	struct plan_step *step = &p->steps[p->n_steps++];
	*step = (struct plan_step){.op = (uint16_t)op, .flags = (uint16_t)flags};
	return step;
}

void plan_one(struct plan *p, enum plan_op op, unsigned flags, const char *s)
{
	plan_two(p, op, flags, s, NULL);
}

void plan_two(struct plan *p, enum plan_op op, unsigned flags, const char *s, const char *t)
{
	struct plan_step *step = plan_add(p, op, flags);

	step->s = plan_string(p, s);
	step->t = plan_string(p, t);
}

void plan_num(struct plan *p, enum plan_op op, unsigned flags, int64_t a, uint64_t b)
{
	struct plan_step *step = plan_add(p, op, flags);

	step->a = a;
	step->b = b;
}

void plan_mkdir(struct plan *p, const char *path, unsigned mode, int owner)
{
	struct plan_step *step = plan_add(p, PLAN_MKDIR, 0);

	step->s = plan_string(p, path);
	step->a = mode;
	step->b = (uint64_t)(owner + 1);
}

void plan_write(struct plan *p, const char *path, unsigned mode, const void *data, size_t len)
{
	struct plan_step *step = plan_add(p, PLAN_WRITE, 0);

	step->s = plan_string(p, path);
	step->a = mode;
	if (len > 0) {
		step->t = plan_text(p, data, len);
		step->len = (uint32_t)len;
	}
}

/* Copy a NULL-terminated vector; returns the offset of the table of offsets. */
static uint32_t put_vector(struct plan *p, const char *const *v, uint32_t *ret_count)
{
	uint32_t n = 0;

	while (v && v[n] && n <= PLAN_ARGS_MAX)
		n++;
	*ret_count = n;
	if (n > PLAN_ARGS_MAX) {
		p->error = p->error ? p->error : -E2BIG;
		return 0;
	}
	auto_free uint32_t *table = calloc(n ? n : 1, sizeof(*table));
	if (!table) {
		p->error = -ENOMEM;
		return 0;
	}
	for (uint32_t i = 0; i < n; i++)
		table[i] = plan_string(p, v[i]);
	while (!p->error && p->text_len % sizeof(uint32_t) != 0)
		(void)plan_text(p, "", 0);
	return plan_text(p, table, n * sizeof(*table));
}

static void move_vector(struct plan_head *head, uint32_t off, uint32_t count, uint32_t by)
{
	uint32_t *v = (uint32_t *)(void *)((char *)head + off);

	for (uint32_t i = 0; i < count; i++)
		v[i] += by;
}

static uint32_t moved(uint32_t off, uint32_t by)
{
	return off ? off + by : 0;
}

static int plan_finish(struct plan *p, struct plan_head *want)
{
	uint32_t by = (uint32_t)(sizeof(*want) + p->n_steps * sizeof(p->steps[0]));
	size_t size = by + p->text_len;
	struct plan_head *head = calloc(1, size);

	if (!head)
		return -ENOMEM;
	*head = *want;
	head->size = (uint32_t)size;
	head->n_steps = p->n_steps;
	memcpy(head->steps, p->steps, p->n_steps * sizeof(p->steps[0]));
	memcpy((char *)head + by, p->text, p->text_len);
	for (unsigned i = 0; i < p->n_steps; i++) {
		head->steps[i].s = moved(head->steps[i].s, by);
		head->steps[i].t = moved(head->steps[i].t, by);
	}
	head->argv = moved(head->argv, by);
	head->envp = moved(head->envp, by);
	head->workdir = moved(head->workdir, by);
	head->path = moved(head->path, by);
	move_vector(head, head->argv, head->argc, by);
	move_vector(head, head->envp, head->envc, by);
	p->block = head;
	return plan_check(head, head->size);
}

void plan_give(struct plan *p)
{
	struct plan_head head = {.magic = PLAN_MAGIC, .version = PLAN_VERSION, .flags = PLAN_MORE};

	if (!p->give || p->error)
		return;
	p->error = plan_finish(p, &head);
	if (p->error >= 0) {
		p->error = p->give(p->with, p->block, p->give_error);
		p->told = p->error < 0;
	}
	free(p->block);
	p->block = NULL;
	p->n_steps = 0;
	p->text_len = 0;
	if (p->error >= 0)
		(void)plan_text(p, "", 0);
}

static uint32_t start_flags(const struct sandbox_spec *spec)
{
	uint32_t flags = 0;

	if (spec->pty)
		flags |= PLAN_PTY;
	if (spec->as_user)
		flags |= PLAN_AS_USER;
	/* At level landlock it would count all that run on the host. */
	if (spec->memory_unheld && spec->level == LEVEL_STRICT)
		flags |= PLAN_COUNT;
	if (spec->collect)
		flags |= PLAN_COLLECT;
	if (spec->shared)
		flags |= PLAN_SHARED;
	if (spec->moves)
		flags |= PLAN_MOVES;
	if (spec->prompt)
		flags |= PLAN_LINGER;
	if (spec_in_workspace(spec))
		flags |= PLAN_ON_HOST;
	if (spec->level == LEVEL_LANDLOCK || spec->zygote || !HOLD_PIDNS)
		flags |= PLAN_HOST_LEVEL;
	if (spec->zygote)
		flags |= PLAN_ZYGOTE;
	if (spec->warm && spec->forked)
		flags |= PLAN_FORK;
	if (spec->warm)
		flags |= PLAN_WARM;
	if (spec->warm && spec->driver)
		flags |= PLAN_DRIVER;
	if (spec->live)
		flags |= PLAN_LIVE;
	if (spec->session)
		flags |= PLAN_SESSION;
	if (spec->leashed && HOLD_LEASH)
		flags |= PLAN_LEASH;
	if (spec->guard && HOLD_COMMANDS)
		flags |= PLAN_GUARDED;
	/* Root could have put another bash there, and who is asked about programs is asked about it. */
	if (spec->line && !spec->as_root && !spec->guard && !spec->pty && !spec->pinned.on &&
	    !spec_on_image(spec))
		flags |= PLAN_LINE;
	return flags;
}

/* The order of the whole: ids first (they are mapped by the time the plan arrives), then the tree,
 * then the host's part (cgroups), then rights are given up, the filter last. */
static void plan_strict(struct plan *p, const struct sandbox_spec *spec)
{
	if (spec->ids.range)
		plan_num(p, PLAN_BECOME, 0, 0, 0);
	if (HOLD_UTSNS)
		plan_one(p, PLAN_HOSTNAME, 0, spec_hostname(spec));
	plan_image(p, spec);
	if (HOLD_NETNS && !spec->zygote)
		plan_network(p, spec);
	plan_add(p, PLAN_PIVOT, 0);
	if (spec_has_deps(spec) && spec->deps.watched_len) {
		struct plan_step *step = plan_add(p, PLAN_SEEN, 0);

		step->t = plan_text(p, spec->deps.watched, spec->deps.watched_len);
		step->len = (uint32_t)spec->deps.watched_len;
	}
	if (spec->zygote)
		plan_zygote(p, spec);
	else
		plan_confine(p, spec);
	plan_add(p, PLAN_READY, 0);
}

/* What is left to do for a sandbox that was waiting. */
static void plan_claim(struct plan *p, const struct sandbox_spec *spec)
{
	if (spec->code_name)
		plan_code(p, spec, "/run", -1);
	plan_add(p, PLAN_READY, 0);
}

static int finish(struct plan *p, const struct sandbox_spec *spec, struct plan **ret, struct err *e)
{
	struct plan_head head = {
		.magic = PLAN_MAGIC,
		.version = PLAN_VERSION,
		.workdir = plan_string(p, spec->workdir),
		.path = plan_string(p, spec->path),
		.flags = start_flags(spec),
		.rows = spec->rows,
		.cols = spec->cols,
		.deadline_ms = spec->limits.time_ms + spec->limits.grace_ms + 1000,
	};
	head.argv = put_vector(p, spec->argv, &head.argc);
	head.envp = put_vector(p, spec->envp, &head.envc);
	int r = p->error ? p->error : plan_finish(p, &head);
	if (r < 0) {
		bool told = p->told;

		plan_free(p);
		errno = -r;
		if (told)
			return r;
		if (r != -E2BIG)
			return err_sys(e, "plan");
		(void)err_set(e, ERR_LIMIT,
			      "command, environment and code are too large: at most %u words",
			      PLAN_ARGS_MAX);
		return err_remedy(e, "give data on standard input or in a directory (--dir)");
	}
	*ret = p;
	return 0;
}

static struct plan *plan_begin(void)
{
	struct plan *p = calloc(1, sizeof(*p));

	if (p)
		(void)plan_text(p, "", 0); /* offset 0 means none */
	return p;
}

int plan_new_parts(const struct sandbox_spec *spec, plan_give_fn *give, void *with,
		   struct plan **ret, struct err *e)
{
	struct plan *p = plan_begin();

	assert(spec->argv && spec->argv[0]);
	if (!p)
		return err_sys(e, "plan");
	p->give = give;
	p->with = with;
	p->give_error = e;
	if (spec->level == LEVEL_LANDLOCK)
		plan_host_level(p, spec);
	else
		plan_strict(p, spec);
	return finish(p, spec, ret, e);
}

int plan_new(const struct sandbox_spec *spec, struct plan **ret, struct err *e)
{
	return plan_new_parts(spec, NULL, NULL, ret, e);
}

int plan_new_claim(const struct sandbox_spec *spec, struct plan **ret, struct err *e)
{
	struct plan *p = plan_begin();

	assert(spec->argv && spec->argv[0]);
	if (!p)
		return err_sys(e, "plan");
	plan_claim(p, spec);
	return finish(p, spec, ret, e);
}

void plan_free(struct plan *p)
{
	if (!p)
		return;
	free(p->text);
	free(p->block);
	free(p);
}

const struct plan_head *plan_block(const struct plan *p)
{
	return p->block;
}
