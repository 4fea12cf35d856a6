/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/pool.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/environ.h"

#define FAILURES_MAX 3u
#define RETRY_US 200000u
#define REFILL_PAUSE_MS 4

extern const char driver_python[];

/* The limits of contract's defaults: what waits is made with these. */
static const struct sandbox_limits standard = {
	.time_ms = 60000,
	.grace_ms = 2000,
	.cpus_milli = 1000,
	.memory_bytes = 512ull << 20,
	.pids = 128,
	.disk_bytes = 256ull << 20,
	.nofile = 1024,
};

/* Anything that shapes the tree or the groups has to be what it was made with. */
static bool fits(const struct ask *ask)
{
	const struct ask_head *h = ask->head;

	return !(h->flags & (ASK_DIR | ASK_ROOT)) && h->limits.cpu_time_ms == 0 &&
	       h->limits.cpus_milli == standard.cpus_milli &&
	       h->limits.memory_bytes == standard.memory_bytes && h->limits.pids == standard.pids &&
	       h->limits.disk_bytes == standard.disk_bytes && h->limits.nofile == standard.nofile;
}

static void spec_waiting(const struct warden *w, struct ward *ward)
{
	static const char *const nothing[] = {"-", NULL};
	static const char *const env[] = {ENVIRON_COMMON, ENVIRON_USER, NULL};
	struct sandbox_spec *spec = &ward->spec;

	spec->limits = standard;
	spec->warm = true;
	spec->driver = ward->kind == KIND_PYTHON;
	ward->argv[0] = "/usr/bin/python3";
	ward->argv[1] = "-c";
	ward->argv[2] = driver_python;
	ward->argv[3] = w->config->preload;
	spec->argv = spec->driver ? ward->argv : nothing;
	spec->envp = env;
	spec->path = ENVIRON_PATH;
	spec->workdir = spec->driver ? "/home/user" : "/";
}

int pool_make(struct warden *w, enum ward_kind kind, struct err *e)
{
	auto_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct ward *ward = ward_new(w);
	const int stdio[3] = {null, null, null};
	int r = null < 0 || !ward ? err_sys(e, "make a sandbox") : 0;

	if (!ward)
		return r;
	ward->state = WARD_MAKING;
	ward->kind = kind;
	w->n_waiting++;
	w->waiting[kind]++;
	spec_waiting(w, ward);
	if (r >= 0)
		r = ward_spec(w, &ward->spec, e);
	if (r >= 0)
		r = live_make(&ward->live, &ward->spec, &w->cgroups, stdio, e);
	if (r >= 0)
		r = live_enter(&ward->live, &ward->spec, e);
	if (r >= 0)
		r = ward_watch(w, ward, e);
	/* Nobody waits for it. When it is claimed it gets what everybody has, which only root can
	 * give back, and only while it is one process. */
	if (r >= 0 && geteuid() == 0 && kind == KIND_PLAIN)
		(void)setpriority(PRIO_PROCESS, (id_t)ward->live.sb.pid, 10);
	if (r < 0)
		ward_end(w, ward);
	return r;
}

static struct ward *find_ready(const struct warden *w, enum ward_kind kind)
{
	struct ward *oldest = NULL;

	for (struct ward *ward = w->wards; ward; ward = ward->next)
		if (ward->state == WARD_READY && ward->kind == kind)
			oldest = ward;
	return oldest;
}

struct ward *pool_choose(const struct warden *w, const struct ask *ask)
{
	struct ward *ward = NULL;

	if (!fits(ask))
		return NULL;
	if ((ask->head->flags & (ASK_PYTHON | ASK_PTY)) == ASK_PYTHON)
		ward = find_ready(w, KIND_PYTHON);
	return ward ? ward : find_ready(w, KIND_PLAIN);
}

int pool_claim(struct warden *w, struct ward *ward, const struct ask *ask, const int stdio[3],
	       struct err *e)
{
	struct sandbox_spec spec = ward->spec;
	struct plan *plan = NULL;

	spec.warm = spec.leashed = spec.driver = false;
	ask_spec(ask, &spec);
	int r = plan_new_claim(&spec, &plan, e);
	if (r >= 0)
		r = sandbox_give_plan(&ward->live.sb, plan, stdio, e);
	plan_free(plan);
	if (r < 0)
		return r;
	if (geteuid() == 0)
		(void)setpriority(PRIO_PROCESS, (id_t)ward->live.sb.pid, 0);
	ward->state = WARD_STARTING;
	ward->warm = true;
	w->n_waiting--;
	w->waiting[ward->kind]--;
	return 0;
}

/* The kind that there is too little of; KINDS: none. */
static enum ward_kind wanted(const struct warden *w)
{
	enum ward_kind kind = KIND_PLAIN;

	while (kind < KINDS && w->waiting[kind] >= w->config->waiting[kind])
		kind++;
	return kind;
}

/*
 * While there is still one ready for the next caller, those who run go first: a pause of theirs is
 * used. After some failures in a row it is tried again now and then only.
 */
int pool_patience_ms(const struct warden *w)
{
	bool running = w->n_wards > w->n_waiting;
	uint64_t now;

	if (w->draining || wanted(w) == KINDS)
		return -1;
	if (w->failures < FAILURES_MAX)
		return running && w->n_waiting > 0 ? REFILL_PAUSE_MS : 0;
	now = warden_now_us();
	return now >= w->retry_us ? 0 : (int)((w->retry_us - now) / 1000) + 1;
}

void pool_refill(struct warden *w)
{
	struct err e = ERR_INIT;

	if (w->failures >= FAILURES_MAX && warden_now_us() < w->retry_us)
		return;
	if (wanted(w) != KINDS && pool_make(w, wanted(w), &e) < 0)
		pool_failed(w, e.text);
}

void pool_failed(struct warden *w, const char *why)
{
	w->retry_us = warden_now_us() + RETRY_US;
	if (++w->failures == FAILURES_MAX)
		(void)fprintf(stderr, "pinfold: no sandbox can wait ready-made: %s\n", why);
}

void pool_succeeded(struct warden *w)
{
	w->failures = 0;
}
