/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/layered.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/hold.h"
#include "sandbox/bundle.h"
#include "wire/environ.h"
#include "warden/driver.h"
#include "warden/pool.h"
#include "warden/usage.h"
#include "wire/bundle.h"

#define PATIENCE_US (20ull * 1000000) /* for its modules */
#define RESTLESS_US 200000u	      /* of processor time, in the two seconds between looks */
#define ESTIMATE (64ull << 20)
#define EACH_MAX 4u

static const char *const standard_env[] = {ENVIRON_COMMON, ENVIRON_USER, NULL};

static void drop(struct layered *l)
{
	for (unsigned i = 0; i < DEPS_GIVEN_MAX; i++)
		fd_close(&l->fd[i]);
	free(l->said);
	*l = (struct layered){.said = NULL};
}

static uint64_t last_used(const struct layered *l)
{
	return demand_last_used(&l->uses);
}

static bool is_hot(const struct layered *l, uint64_t now)
{
	return l->said && !l->refused && demand_is_often(&l->uses, now);
}

/* Which directory it is, as the kernel has it: a file system of the caller's own making, which may
 * never answer, is not asked. While we hold it, no other can be the same. */
static bool identify(int fd, struct layer_id *ret)
{
	char path[40], text[256];
	size_t len = 0;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	auto_close int info = open(path, O_RDONLY | O_CLOEXEC);
	if (info < 0 || fd_read_max(info, text, sizeof(text) - 1, &len) < 0)
		return false;
	text[len] = '\0';
	const char *mount = strstr(text, "mnt_id:"), *ino = strstr(text, "ino:");
	return mount && ino && sscanf(mount, "mnt_id: %" SCNu64, &ret->mount) == 1 &&
	       sscanf(ino, "ino: %" SCNu64, &ret->ino) == 1;
}

static bool is_same_layer(const struct layered *l, const struct bundle *said,
			  const struct layer_id id[DEPS_GIVEN_MAX])
{
	for (unsigned i = 0; i < said->n; i++)
		if (id[i].mount != l->id[i].mount || id[i].ino != l->id[i].ino)
			return false;
	return true;
}

static bool is_it(const struct layered *l, const struct ucred *who, const struct bundle *said,
		  const struct layer_id id[DEPS_GIVEN_MAX])
{
	return l->said && (!HOLD_PACKAGE_WARM || (l->uid == who->uid && l->gid == who->gid &&
						  memcmp(l->said, said, sizeof(*said)) == 0 &&
						  is_same_layer(l, said, id)));
}

/* Nothing that an interpreter which waits could not know, or that its modules may have read. */
static bool is_plain(const struct ask *ask)
{
	const struct ask_head *h = ask->head;
	const char **env = ask->vectors + h->argc + 1;
	unsigned n = 0;

	while (standard_env[n] && env[n] && strcmp(standard_env[n], env[n]) == 0)
		n++;
	return !standard_env[n] && !env[n] && driver_kind(ask) == KIND_PYTHON &&
	       strcmp(ask_str(h, h->workdir), "/home/user") == 0;
}

/* A place for one that was not seen before: free, or of who is not used any more. */
static struct layered *find_place(struct warden *w)
{
	struct layered *best = NULL;

	for (struct layered *l = w->layered; l < w->layered + LAYERED_MAX; l++) {
		if (!l->said)
			return l;
		if (!l->n && (!best || last_used(l) < last_used(best)))
			best = l;
	}
	if (best)
		drop(best);
	return best;
}

static struct layered *remember(struct warden *w, const struct ucred *who,
				const struct bundle *said, const int fds[DEPS_GIVEN_MAX])
{
	struct layered *l = find_place(w);

	if (!l)
		return NULL;
	*l = (struct layered){.said = malloc(sizeof(*said)), .uid = who->uid, .gid = who->gid};
	for (unsigned i = 0; i < DEPS_GIVEN_MAX; i++)
		l->fd[i] = FD_NONE;
	bool good = l->said != NULL;
	for (unsigned i = 0; good && i < said->n; i++) {
		l->fd[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
		good = l->fd[i] >= 0 && identify(l->fd[i], &l->id[i]);
	}
	if (!good) {
		drop(l);
		return NULL;
	}
	*l->said = *said;
	l->demand.cost = ESTIMATE;
	return l;
}

static struct ward *find_ready(const struct warden *w, const struct layered *l)
{
	for (struct ward *ward = w->wards; ward; ward = ward->next)
		if (ward->layered == l && ward->state == WARD_READY)
			return ward;
	return NULL;
}

struct ward *layered_choose(struct warden *w, const struct ask *ask, const struct ucred *who,
			    const struct bundle *said, const int fds[DEPS_GIVEN_MAX])
{
	struct layered *l = w->layered;
	uint64_t now = warden_now_us();
	struct layer_id id[DEPS_GIVEN_MAX];

	if ((said->flags & BUNDLE_IMAGE) || !said->modules[0] || !pool_fits(ask) || !is_plain(ask))
		return NULL;
	for (unsigned i = 0; i < said->n; i++)
		if (!identify(fds[i], &id[i]))
			return NULL;
	while (l < w->layered + LAYERED_MAX && !is_it(l, who, said, id))
		l++;
	if (l == w->layered + LAYERED_MAX)
		l = remember(w, who, said, fds);
	if (!l)
		return NULL;
	demand_used(&l->uses, now);
	demand_want(&l->demand, now);
	return find_ready(w, l);
}

static unsigned target(const struct layered *l, uint64_t bytes)
{
	static const unsigned floor = 1;
	unsigned n = 0;

	demand_share(&l->demand, &floor, 1, bytes, &n);
	return n < EACH_MAX ? n : EACH_MAX;
}

uint64_t layered_bytes(const struct warden *w)
{
	uint64_t sum = 0;

	for (const struct layered *l = w->layered; l < w->layered + LAYERED_MAX; l++)
		sum += l->n * l->demand.cost;
	return sum;
}

/* The one that is wanted most: used last. */
static struct layered *wanted(const struct warden *w, uint64_t bytes)
{
	uint64_t now = warden_now_us(), held = layered_bytes(w);
	const struct layered *best = NULL;

	for (const struct layered *l = w->layered; l < w->layered + LAYERED_MAX; l++) {
		if (!is_hot(l, now) || held + l->demand.cost > bytes ||
		    l->n >= target(l, bytes - held + l->n * l->demand.cost))
			continue;
		if (!best || last_used(l) > last_used(best))
			best = l;
	}
	return (struct layered *)(uintptr_t)best;
}

bool layered_due(const struct warden *w, uint64_t bytes)
{
	return wanted(w, bytes) != NULL;
}

static void fill_spec(struct ward *ward, struct layered *l)
{
	struct sandbox_spec *spec = &ward->spec;

	pool_spec(spec);
	bundle_spec(l->said, spec, l->links);
	memcpy(spec->deps.fd, l->fd, sizeof(spec->deps.fd));
	spec->dir_uid = l->uid;
	spec->dir_gid = l->gid;
	spec->driver = DRIVER_PYTHON;
	driver_layered(ward, l->said->modules);
	spec->envp = standard_env;
	spec->workdir = "/home/user";
}

void layered_make(struct warden *w, uint64_t bytes)
{
	auto_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int stdio[3] = {null, null, null};
	struct layered *l = wanted(w, bytes);
	struct ward *ward = l && null >= 0 ? ward_new(w) : NULL;
	struct err e = ERR_INIT;

	if (!ward)
		return;
	ward->state = WARD_MAKING;
	ward->kind = KIND_PYTHON;
	ward->layered = l;
	ward->made_us = warden_now_us();
	w->n_waiting++;
	l->n++;
	fill_spec(ward, l);
	ward_watching(w, ward);
	int r = ward_spec(w, &ward->spec, &e);
	if (r >= 0)
		r = live_make(&ward->live, &ward->spec, &w->cgroups, stdio, &e);
	if (r >= 0)
		r = live_enter(&ward->live, &ward->spec, &e);
	if (r >= 0)
		r = ward_watch(w, ward, &e);
	/* Borrowed: the descriptors are mounted, the rest is in the plan. */
	ward->spec.deps = (struct sandbox_deps){.n = 0};
	ward->spec.layers = (struct sandbox_layers){.fd = FD_NONE};
	if (r < 0) {
		l->refused = true;
		ward_end(w, ward);
	}
}

void layered_ready(struct warden *w, struct ward *ward, bool interpreter)
{
	struct usage u;

	if (!interpreter) {
		layered_failed(ward);
		ward_end(w, ward);
		return;
	}
	ward->state = WARD_READY;
	w->pool.n_ready++;
	usage_of_tree(ward->live.sb.pid, 0, &u);
	ward->cpu_us = u.cpu_us;
	demand_made(&ward->layered->demand, warden_now_us() - ward->made_us);
	demand_cost(&ward->layered->demand, pool_measure(ward));
}

void layered_forget(struct warden *w, struct ward *ward)
{
	if (!ward_waits(ward))
		return;
	w->n_waiting--;
	w->pool.n_ready -= ward->state == WARD_READY;
	ward->layered->n--;
	ward->layered = NULL;
}

void layered_failed(const struct ward *ward)
{
	ward->layered->refused = true;
}

/* Does what was imported go on by itself? Nobody would pay for that. */
static bool is_restless(struct ward *ward)
{
	struct usage u;
	uint64_t before = ward->cpu_us;

	usage_of_tree(ward->live.sb.pid, 0, &u);
	ward->cpu_us = u.cpu_us;
	demand_cost(&ward->layered->demand, pool_measure(ward));
	return u.cpu_us > before + RESTLESS_US;
}

/* Has it to go? */
static bool is_over(struct ward *ward)
{
	uint64_t now = warden_now_us();

	if ((ward->state == WARD_MAKING && now - ward->made_us > PATIENCE_US) ||
	    (ward->state == WARD_READY && is_restless(ward)))
		ward->layered->refused = true;
	return !is_hot(ward->layered, now);
}

void layered_limit(struct warden *w, uint64_t bytes)
{
	for (struct ward *ward = w->wards, *next; ward && layered_bytes(w) > bytes; ward = next) {
		next = ward->next;
		if (ward->layered)
			ward_end(w, ward);
	}
}

void layered_tick(struct warden *w)
{
	uint64_t now = warden_now_us();

	for (struct ward *ward = w->wards, *next; ward; ward = next) {
		next = ward->next;
		if (ward->layered && is_over(ward))
			ward_end(w, ward);
	}
	for (struct layered *l = w->layered; l < w->layered + LAYERED_MAX; l++) {
		demand_fade(&l->demand);
		if (l->said && !l->n && now - last_used(l) > DEMAND_OFTEN_US)
			drop(l);
	}
}

void layered_renew(struct warden *w)
{
	for (struct layered *l = w->layered; l < w->layered + LAYERED_MAX; l++)
		l->refused = false;
}

void layered_done(struct warden *w)
{
	for (struct layered *l = w->layered; l < w->layered + LAYERED_MAX; l++)
		if (l->said)
			drop(l);
}
