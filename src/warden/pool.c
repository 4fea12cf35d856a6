/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/pool.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"
#include "wire/environ.h"
#include "warden/driver.h"
#include "warden/layered.h"
#include "warden/stock.h"
#include "warden/usage.h"

#define FAILURES_MAX 3u
#define RETRY_US 200000u
#define REFILL_PAUSE_MS 4
#define SHRINK_PAUSE_MS 20
#define MAKING_MAX 4u /* at a time: what runs goes first */
#define RELIEVE_MAX 8 /* in one turn of the loop */
#define MEASURE_US 1000000u
#define MEMORY_DEFAULT (256ull << 20)
/*
 * What the kernel holds for a sandbox outside of its control group: namespaces, mounts, page
 * tables, descriptors. Only the whole host can tell; 400 that waited took 590 KiB each there, and
 * their groups of v1 said 12.
 */
#define OUTSIDE_BYTES (576ull << 10)

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

/* Until one has been measured. */
static const uint64_t estimate[KINDS] = {
	[KIND_PLAIN] = OUTSIDE_BYTES,
	[KIND_PYTHON] = 24ull << 20,
	[KIND_NODE] = 64ull << 20,
	[KIND_R] = 56ull << 20,
};

/* A ceiling that nobody chose leaves room for the floors that somebody did. */
static uint64_t ceiling(const struct warden *w)
{
	uint64_t floors = 0;

	if (w->config->warm_memory)
		return w->config->warm_memory;
	for (int i = 0; i < KINDS; i++)
		floors += w->config->waiting[i] * w->pool.demand[i].cost;
	return floors > MEMORY_DEFAULT ? floors : MEMORY_DEFAULT;
}

/* Of `wanted` bytes, how many those with packages may have: half, but not what somebody chose for
 * others; and nothing where the host is short of memory. */
static uint64_t for_layered(const struct warden *w, uint64_t wanted)
{
	uint64_t all = ceiling(w), floors = 0, most;

	for (int i = 0; i < KINDS; i++)
		floors += w->config->waiting[i] * w->pool.demand[i].cost;
	most = floors < all ? all - floors : 0;
	most = most < all / 2 ? most : all / 2;
	if (w->pool.pressure.level != PRESSURE_NONE)
		most = 0;
	return wanted < most ? wanted : most;
}

/* Under pressure what is beyond the floors goes, under heavy pressure all. */
static void set_targets(struct warden *w)
{
	struct pool *p = &w->pool;
	const unsigned *floors = w->config->waiting;

	demand_share(p->demand, floors, KINDS, ceiling(w) - for_layered(w, layered_bytes(w)),
		     p->target);
	for (int i = 0; i < KINDS && p->pressure.level != PRESSURE_NONE; i++)
		if (p->pressure.level == PRESSURE_HEAVY)
			p->target[i] = 0;
		else if (p->target[i] > floors[i])
			p->target[i] = floors[i];
}

void pool_init(struct warden *w)
{
	struct pool *p = &w->pool;

	for (int i = 0; i < KINDS; i++)
		p->demand[i].cost = estimate[i];
	pressure_open(&p->pressure);
	for (int i = 0; i < 2; i++) {
		struct epoll_event ev = {.events = EPOLLPRI, .data.ptr = &p->stalls[i]};

		p->stalls[i] = (struct source){SOURCE_PRESSURE, NULL, NULL};
		if (p->pressure.fd[i] >= 0)
			(void)epoll_ctl(w->epoll, EPOLL_CTL_ADD, p->pressure.fd[i], &ev);
	}
	set_targets(w);
}

void pool_done(struct warden *w)
{
	pressure_close(&w->pool.pressure);
}

/* Anything that shapes the tree or the groups has to be what it was made with. */
bool pool_fits(const struct ask *ask)
{
	const struct ask_head *h = ask->head;

	return !(h->flags & (ASK_DIR | ASK_ROOT | ASK_EGRESS | ASK_PINNED | ASK_GUARD)) &&
	       h->limits.cpu_time_ms == 0 && h->limits.cpus_milli == standard.cpus_milli &&
	       h->limits.memory_bytes == standard.memory_bytes && h->limits.pids == standard.pids &&
	       h->limits.disk_bytes == standard.disk_bytes && h->limits.nofile == standard.nofile;
}

void pool_spec(struct sandbox_spec *spec)
{
	spec->limits = standard;
	spec->warm = true;
	spec->path = ENVIRON_PATH;
}

static void spec_waiting(struct warden *w, struct ward *ward)
{
	static const char *const nothing[] = {"-", NULL};
	static const char *const env[] = {ENVIRON_COMMON, ENVIRON_USER, NULL};
	struct sandbox_spec *spec = &ward->spec;

	pool_spec(spec);
	spec->argv = nothing;
	driver_spec(w, ward);
	spec->envp = env;
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
	ward->made_us = warden_now_us();
	w->n_waiting++;
	w->waiting[kind]++;
	spec_waiting(w, ward);
	if (r >= 0)
		r = ward_spec(w, &ward->spec, e);
	/* A fork of the zygote has to have rights over what it enters. */
	if (r >= 0 && kind == KIND_PLAIN)
		stock_give(w, ward);
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

/* Its group's own account. Without one: what its processes have, shared pages divided. */
uint64_t pool_measure(const struct ward *ward)
{
	const struct cgroup *cg = &ward->live.cgroup;
	struct usage u;

	if (cg->ops)
		return cg->ops->memory(cg) + (cg->ops->from_birth ? 0 : OUTSIDE_BYTES);
	usage_of_tree(ward->live.sb.pid, 0, &u);
	return u.memory + OUTSIDE_BYTES;
}

void pool_ready(struct warden *w, struct ward *ward)
{
	struct pool *p = &w->pool;
	enum ward_kind kind = ward->kind;
	uint64_t now = warden_now_us();

	ward->state = WARD_READY;
	ward->older = p->youngest[kind];
	if (ward->older)
		ward->older->younger = ward;
	else
		p->oldest[kind] = ward;
	p->youngest[kind] = ward;
	p->n_ready++;
	w->failures = 0;
	demand_made(&p->demand[kind], now - ward->made_us);
	if (p->demand[kind].measured && now - p->measured_us[kind] < MEASURE_US)
		return;
	p->measured_us[kind] = now;
	demand_cost(&p->demand[kind], pool_measure(ward));
	set_targets(w);
}

static void forget(struct warden *w, struct ward *ward)
{
	struct pool *p = &w->pool;

	w->n_waiting--;
	w->waiting[ward->kind]--;
	if (ward->state != WARD_READY)
		return;
	p->n_ready--;
	if (ward->older)
		ward->older->younger = ward->younger;
	else
		p->oldest[ward->kind] = ward->younger;
	if (ward->younger)
		ward->younger->older = ward->older;
	else
		p->youngest[ward->kind] = ward->older;
	ward->older = ward->younger = NULL;
}

void pool_forget(struct warden *w, struct ward *ward)
{
	if (ward->layered)
		layered_forget(w, ward);
	else if (ward_waits(ward))
		forget(w, ward);
}

static struct ward *want(struct warden *w, enum ward_kind kind)
{
	demand_want(&w->pool.demand[kind], warden_now_us());
	set_targets(w);
	return w->pool.oldest[kind];
}

struct ward *pool_choose(struct warden *w, const struct ask *ask)
{
	struct ward *ward = NULL;

	if (!pool_fits(ask) || (ask->head->flags & ASK_LAYERS))
		return NULL;
	if (driver_kind(ask) != KIND_PLAIN)
		ward = want(w, driver_kind(ask));
	return ward ? ward : want(w, KIND_PLAIN);
}

int pool_claim(struct warden *w, struct ward *ward, const struct ask *ask, struct err *e)
{
	struct sandbox_spec spec;

	ward_command(ward, ask, &spec);
	int r = plan_new_claim(&spec, &ward->claim, e);
	if (r < 0)
		return r;
	pool_forget(w, ward);
	ward->state = WARD_STARTING;
	ward->warm = true;
	return 0;
}

int pool_begin(struct ward *ward, const int stdio[3], struct err *e)
{
	if (!ward->claim)
		return 0;
	if (geteuid() == 0) /* before it wakes, or others would come first */
		(void)setpriority(PRIO_PROCESS, (id_t)ward->live.sb.pid, 0);
	int r = sandbox_give_plan(&ward->live.sb, ward->claim, stdio, e);
	plan_free(ward->claim);
	ward->claim = NULL;
	return r;
}

/* The kind that there is too little of, in proportion; KINDS: none. */
static enum ward_kind wanted(const struct warden *w)
{
	const unsigned *target = w->pool.target, *waiting = w->waiting;
	enum ward_kind most = KINDS;

	if (w->pool.pressure.level != PRESSURE_NONE || w->n_waiting >= w->config->waiting_max)
		return KINDS;
	for (enum ward_kind i = 0; i < KINDS; i++)
		if (waiting[i] < target[i] &&
		    (most == KINDS || waiting[i] * target[most] < waiting[most] * target[i]))
			most = i;
	return most;
}

/* One of a kind that there is too much of; NULL: none. */
static struct ward *surplus(const struct warden *w)
{
	for (int i = 0; i < KINDS; i++)
		if (w->waiting[i] > w->pool.target[i] && w->pool.oldest[i])
			return w->pool.oldest[i];
	return NULL;
}

static bool is_wanting(const struct warden *w)
{
	return wanted(w) != KINDS || (w->n_waiting < w->config->waiting_max &&
				      layered_due(w, for_layered(w, UINT64_MAX)));
}

/*
 * While there is still one ready for the next caller, those who run go first: a pause of theirs is
 * used. After some failures in a row it is tried again now and then only.
 */
int pool_patience_ms(const struct warden *w)
{
	bool running = warden_running(w) > 0;
	uint64_t now;

	if (w->draining)
		return -1;
	if (surplus(w))
		return w->pool.pressure.level == PRESSURE_NONE ? SHRINK_PAUSE_MS : 0;
	if (!is_wanting(w) || w->n_waiting - w->pool.n_ready >= MAKING_MAX)
		return -1;
	if (w->failures < FAILURES_MAX)
		return running && w->n_waiting > 0 ? REFILL_PAUSE_MS : 0;
	now = warden_now_us();
	return now >= w->retry_us ? 0 : (int)((w->retry_us - now) / 1000) + 1;
}

void pool_refill(struct warden *w)
{
	struct err e = ERR_INIT;
	struct ward *ward = surplus(w);

	if (ward) {
		ward_end(w, ward);
		return;
	}
	if (w->failures >= FAILURES_MAX && warden_now_us() < w->retry_us)
		return;
	if (wanted(w) == KINDS)
		layered_make(w, for_layered(w, UINT64_MAX));
	else if (pool_make(w, wanted(w), &e) < 0)
		pool_failed(w, e.text);
}

void pool_failed(struct warden *w, const char *why)
{
	w->retry_us = warden_now_us() + RETRY_US;
	if (++w->failures == FAILURES_MAX)
		(void)fprintf(stderr, "pinfold: no sandbox can wait ready-made: %s\n", why);
}

/* Those who run may leave no pause: what the host needs back is not left to one. */
static void relieve(struct warden *w)
{
	struct ward *ward;

	layered_limit(w, for_layered(w, UINT64_MAX));
	set_targets(w);
	for (int i = 0; i < RELIEVE_MAX && w->pool.pressure.level != PRESSURE_NONE; i++)
		if ((ward = surplus(w)))
			ward_end(w, ward);
}

void pool_tick(struct warden *w)
{
	for (int i = 0; i < KINDS; i++)
		demand_fade(&w->pool.demand[i]);
	pressure_check(&w->pool.pressure, warden_now_us());
	layered_tick(w);
	relieve(w);
}

void pool_stalled(struct warden *w, const struct source *source)
{
	pressure_stalled(&w->pool.pressure, (unsigned)(source - w->pool.stalls), warden_now_us());
	relieve(w);
}
