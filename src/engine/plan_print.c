/* SPDX-License-Identifier: Apache-2.0 */
/* `pinfold plan`: the steps of a run, readable, without doing them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "engine/run_int.h"
#include "engine/said.h"

#define SHOWN_MAX 96

static void write_step_json(struct json *j, const struct plan_head *head, unsigned i)
{
	const struct plan_step *step = &head->steps[i];

	json_open(j, NULL, '{');
	json_u64(j, "step", i);
	json_str(j, "op", plan_op_name(step->op));
	json_str(j, "does", plan_op_help(step->op));
	json_str(j, "s", plan_str(head, step->s));
	if (step->len)
		json_u64(j, "bytes", step->len);
	else
		json_str(j, "t", plan_str(head, step->t));
	json_u64(j, "a", (uint64_t)step->a);
	json_u64(j, "b", step->b);
	json_u64(j, "flags", step->flags);
	json_close(j, '}');
}

static const char *group_name(const struct request *r)
{
	return r->cgroups.ops ? r->cgroups.ops->name
	       : r->scope     ? "v2 in a scope of systemd's"
			      : "none: ";
}

static int write_json(const struct plan_head *head, const struct request *r, int fd)
{
	struct json j;
	char text[400];

	json_init(&j, fd);
	json_open(&j, NULL, '{');
	json_str(&j, "isolation", r->spec.level == LEVEL_STRICT ? "strict" : "landlock");
	request_write_limits(r, &j);
	json_open(&j, "host", '[');
	json_str(&j, NULL, "write the journal");
	(void)snprintf(text, sizeof(text), "make control group %s%.300s", group_name(r),
		       r->cgroups.ops || r->scope ? "" : r->cgroups.why);
	json_str(&j, NULL, text);
	json_str(&j, NULL, "clone into new namespaces");
	json_str(&j, NULL, "map ids");
	json_str(&j, NULL, "set limits");
	json_close(&j, ']');
	json_open(&j, "steps", '[');
	for (unsigned i = 0; i < head->n_steps; i++)
		write_step_json(&j, head, i);
	json_close(&j, ']');
	json_close(&j, '}');
	int k = json_end(&j);
	return k < 0 ? k : fd_write_all(fd, "\n", 1);
}

/* Arguments that mean something for this operation; numbers in the base people know them in. */
static void print_arguments(FILE *f, const struct plan_head *head, const struct plan_step *step)
{
	const char *s = plan_str(head, step->s);

	if (s)
		fprintf(f, " %.*s", SHOWN_MAX, *s ? s : "/");
	switch ((enum plan_op)step->op) {
	case PLAN_MKDIR:
	case PLAN_WRITE: fprintf(f, " mode=%04o", (unsigned)step->a); break;
	case PLAN_BECOME: fprintf(f, " uid=%d gid=%u", (int)step->a, (unsigned)step->b); break;
	case PLAN_RLIMIT:
		fprintf(f, " resource=%d limit=%llu", (int)step->a, (unsigned long long)step->b);
		break;
	case PLAN_BOUNDING:
	case PLAN_CAPS:
	case PLAN_LANDLOCK:
	case PLAN_LANDLOCK_PATH: fprintf(f, " access=0x%llx", (unsigned long long)step->b); break;
	default: break;
	}
	if (step->len)
		fprintf(f, " (%u bytes)", step->len);
	else if (step->t)
		fprintf(f, " -> %.*s", SHOWN_MAX, plan_str(head, step->t));
	if (step->flags & STEP_RDONLY)
		fprintf(f, " read-only");
	if (step->flags & STEP_OPTIONAL)
		fprintf(f, " if-present");
}

static int write_text(const struct plan_head *head, const struct request *r, int fd)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return -ENOMEM;
	fprintf(f, "host: write the journal, make control group %s%s, clone into new namespaces\n",
		group_name(r), r->cgroups.ops || r->scope ? "" : r->cgroups.why);
	fprintf(f,
		"host: map ids, set limits: memory %llu by %s, pids %llu by %s, disk %llu by %s\n",
		(unsigned long long)r->spec.limits.memory_bytes, held_name(r->held.memory),
		(unsigned long long)r->spec.limits.pids, held_name(r->held.pids),
		(unsigned long long)r->spec.limits.disk_bytes, held_name(r->held.disk));
	for (unsigned i = 0; i < head->n_steps; i++) {
		fprintf(f, "%4u  %-14s", i, plan_op_name(head->steps[i].op));
		print_arguments(f, head, &head->steps[i]);
		fputc('\n', f);
	}
	if (fclose(f) != 0) {
		free(text);
		return -ENOMEM;
	}
	int k = fd_write_all(fd, text, len);
	free(text);
	return k;
}

int pinfold_plan_write(const struct pinfold_run_options *options, int json, int fd,
		       struct pinfold_error *ret_error)
{
	struct request req;
	struct plan *plan = NULL;
	struct err e = ERR_INIT;
	int r = request_init(&req, options, NULL, false, &e);

	if (r >= 0)
		r = said_check(&(struct secrets_said){options->hide, options->show}, &e);
	if (r >= 0)
		r = plan_new(&req.spec, &plan, &e);
	if (r >= 0) {
		const struct plan_head *head = plan_block(plan);

		r = json ? write_json(head, &req, fd) : write_text(head, &req, fd);
		errno = -r;
		if (r < 0)
			(void)err_sys(&e, "write the plan");
	}
	if (r < 0)
		error_public(&e, ret_error);
	plan_free(plan);
	request_done(&req);
	return r < 0 ? -1 : 0;
}
