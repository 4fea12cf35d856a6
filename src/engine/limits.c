/* SPDX-License-Identifier: Apache-2.0 */
/* Limits: defaults, bounds, and what holds each of them on this host for this user. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engine/run_int.h"
#include "sandbox/hold.h"
#include "sandbox/scope.h"
#include "sandbox/volume.h"

#define MIB (1ull << 20)
#define DISK_LEAST (64ull << 10)
#define DISK_MOST (1ull << 50)

const char *held_name(enum held h)
{
	static const char *const names[] = {
		[HELD_ABSENT] = "absent", [HELD_CGROUP] = "cgroup", [HELD_RLIMIT] = "rlimit",
		[HELD_TMPFS] = "tmpfs",	  [HELD_QUOTA] = "quota",   [HELD_TIMER] = "timer",
		[HELD_POLLED] = "polled",
	};
	return names[h];
}

const char *limit_size(uint64_t bytes, char text[LIMIT_TEXT])
{
	static const char units[] = "KMGT";
	const char *unit = NULL;

	for (unsigned i = 0; i < 4 && bytes && bytes % 1024 == 0; i++) {
		bytes /= 1024;
		unit = &units[i];
	}
	(void)snprintf(text, LIMIT_TEXT, "%llu%.*s", (unsigned long long)bytes, unit ? 1 : 6,
		       unit	    ? unit
		       : bytes == 1 ? " byte"
				    : " bytes");
	return text;
}

const char *limit_time(uint64_t ms, char text[LIMIT_TEXT])
{
	const uint64_t day_ms = 24ull * 3600 * 1000;

	if (ms && ms % day_ms == 0)
		(void)snprintf(text, LIMIT_TEXT, "%llud", (unsigned long long)(ms / day_ms));
	else if (ms < 1000)
		(void)snprintf(text, LIMIT_TEXT, "%llums", (unsigned long long)ms);
	else
		(void)snprintf(text, LIMIT_TEXT, "%.10gs", (double)ms / 1000);
	return text;
}

struct bound {
	const char *option;
	enum { IN_BYTES, IN_MS, IN_MILLI, IN_COUNT } unit;
	uint64_t *value;
	uint64_t given, standard, least, most;
};

/* As it would be written behind the option. */
static const char *bound_text(const struct bound *b, uint64_t v, char text[LIMIT_TEXT])
{
	switch (b->unit) {
	case IN_BYTES: return limit_size(v, text);
	case IN_MS: return limit_time(v, text);
	case IN_MILLI: (void)snprintf(text, LIMIT_TEXT, "%.10g", (double)v / 1000); break;
	case IN_COUNT: (void)snprintf(text, LIMIT_TEXT, "%llu", (unsigned long long)v); break;
	}
	return text;
}

static int set_bound(const struct bound *b, struct err *e)
{
	*b->value = b->given ? b->given : b->standard;
	if (*b->value >= b->least && *b->value <= b->most)
		return 0;
	(void)err_set(e, ERR_INVALID, "--%s: %s", b->option,
		      *b->value < b->least ? "too little" : "too much");
	char least[LIMIT_TEXT], most[LIMIT_TEXT];
	return err_remedy(e, "give a value between %s and %s", bound_text(b, b->least, least),
			  bound_text(b, b->most, most));
}

int limit_check_disk(uint64_t bytes, struct err *e)
{
	uint64_t ignored;
	const struct bound b = {"disk",	    IN_BYTES,	&ignored, bytes,
				DISK_LEAST, DISK_LEAST, DISK_MOST};

	return set_bound(&b, e);
}

static int set_values(struct request *r, const struct pinfold_run_options *o, struct err *e)
{
	struct sandbox_limits *l = &r->spec.limits;
	const uint64_t year_ms = 366ull * 24 * 3600 * 1000;
	const struct bound bounds[] = {
		{"time", IN_MS, &l->time_ms, o->time_ms, 60000, 1, year_ms},
		{"grace", IN_MS, &l->grace_ms, o->grace_ms, 2000, 1, year_ms},
		{"cpu-time", IN_MS, &l->cpu_time_ms, o->cpu_time_ms, 0, 0, year_ms},
		{"cpus", IN_MILLI, &l->cpus_milli, o->cpus_milli, 1000, 10, 4096000},
		{"memory", IN_BYTES, &l->memory_bytes, o->memory_bytes, 512 * MIB, 4 * MIB,
		 1ull << 50},
		{"pids", IN_COUNT, &l->pids, o->pids, 128, 1, 4000000},
		{"disk", IN_BYTES, &l->disk_bytes, o->disk_bytes, 256 * MIB, DISK_LEAST, DISK_MOST},
		{"nofile", IN_COUNT, &l->nofile, o->nofile, 1024, 8, 1048576},
		{"output", IN_BYTES, &r->output_bytes, o->output_bytes, MIB, 1, 64 * MIB},
	};

	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
		if (set_bound(&bounds[i], e) < 0)
			return -EINVAL;
	/* What the caller may not himself is not given on (guest/identity.c). */
	struct rlimit own;
	if (!r->remote && getrlimit(RLIMIT_NOFILE, &own) == 0 && l->nofile > own.rlim_max)
		l->nofile = own.rlim_max;
	/* A smaller --memory brings the default of --disk down with it. */
	if (!o->disk_bytes && l->disk_bytes > l->memory_bytes / 2)
		l->disk_bytes = l->memory_bytes / 2;
	return 0;
}

static void find_holders(struct request *r, bool group)
{
	struct run_held *h = &r->held;

	h->memory = group ? HELD_CGROUP : HELD_POLLED;
	h->pids = group ? HELD_CGROUP : HELD_RLIMIT;
	h->cpus = group ? HELD_CGROUP : HELD_ABSENT;
	h->disk = HELD_TMPFS;
	h->time = HELD_TIMER;
	h->cpu_time = group ? HELD_TIMER : HELD_POLLED;
	h->nofile = HELD_RLIMIT;
	r->spec.memory_unheld = !group;
	if (r->spec.level == LEVEL_LANDLOCK) {
		h->disk = HELD_ABSENT;
		h->pids = group ? HELD_CGROUP : HELD_ABSENT;
	}
}

static int check_strict(const struct request *r, struct err *e)
{
	if (!r->best_effort && r->spec.level == LEVEL_LANDLOCK) {
		(void)err_set(e, ERR_UNSUPPORTED, "--isolation landlock cannot limit disk");
		(void)err_detail(e, "limits");
		return err_remedy(e, "accept it with --limits best-effort");
	}
	if (r->best_effort || r->cgroups.ops || r->scope)
		return 0;
	(void)err_set(e, ERR_UNSUPPORTED, "memory and cpus cannot be limited: %s", r->cgroups.why);
	(void)err_detail(e, "limits");
	return err_remedy(e, "%s; or accept weaker limits with --limits best-effort",
			  r->cgroups.remedy);
}

/* A layer on tmpfs is memory, and has to leave some for the program. */
static int check_disk(struct request *r, struct err *e)
{
	const struct sandbox_limits *l = &r->spec.limits;

	char size[LIMIT_TEXT];

	bool large = (r->cgroups.ops || r->scope) && l->disk_bytes > l->memory_bytes / 2;

	if (r->spec.level == LEVEL_LANDLOCK)
		return 0;
	if (spec_in_workspace(&r->spec)) {
		r->held.disk = HELD_POLLED;
		return 0;
	}
	r->rough = (r->spec.dir_fd >= 0 || r->spec.as_root || spec_on_image(&r->spec)) &&
		   !volume_unneeded();
	if (geteuid() == 0 && (large || r->rough)) {
		r->spec.on_volume = true;
		r->held.disk = HELD_QUOTA;
		return 0;
	}
	if (!large)
		return 0;
	(void)err_set(
		e, ERR_UNSUPPORTED,
		"--disk: %s is more than half of the memory limit, and a layer on disk needs root",
		limit_size(l->disk_bytes, size));
	(void)err_detail(e, "limits");
	return err_remedy(e, "raise --memory to at least %lluM",
			  (unsigned long long)((2 * l->disk_bytes + MIB - 1) / MIB));
}

/* The scope could not be had after all: what is left without it. */
int request_lose_scope(struct request *r, struct err *e)
{
	(void)snprintf(r->cgroups.why, sizeof(r->cgroups.why), "%.150s", e->text);
	*e = (struct err)ERR_INIT;
	r->scope = false;
	find_holders(r, false);
	return check_strict(r, e);
}

int request_limits(struct request *r, const struct pinfold_run_options *o, struct err *e)
{
	if (set_values(r, o, e) < 0)
		return -EINVAL;
	if (r->remote) {
		find_holders(r, true);
		return 0;
	}
	if (HOLD_CGROUP)
		cgroup_detect(&r->cgroups);
	r->scope = HOLD_CGROUP && !r->cgroups.ops && scope_available();
	find_holders(r, r->cgroups.ops || r->scope);
	int k = HOLD_CGROUP ? check_strict(r, e) : 0;
	return k < 0 ? k : check_disk(r, e);
}

void request_held(struct request *r, bool group, bool volume)
{
	find_holders(r, group);
	if (volume)
		r->held.disk = HELD_QUOTA;
	if (!group)
		(void)snprintf(r->cgroups.why, sizeof(r->cgroups.why),
			       "the daemon has no control group of its own");
}
