/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/zygote.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "kernel/userns.h"
#include "wire/environ.h"
#include "wire/fork.h"

#define FAILURES_MAX 3u
#define FORKS_MAX 64u
#define AGE_MAX_US (600ull * 1000000)
#define PATIENCE_US (60ull * 1000000) /* for its modules */
#define PROCESSES_MAX 128u
#define PROCESSES_ALL 4000000u /* as --pids may be */

extern const char driver_python[];

/* Below the pool all processes of all its sandboxes count as this one's, too: with a limit of its own a bomb
 * in one of them would keep it from forking for the others. */
static uint64_t most_processes(const struct warden *w)
{
#ifndef DROP_ZYGOTE_PIDS
	if (w->zygote.pooled)
		return PROCESSES_ALL;
#endif
	(void)w;
	return PROCESSES_MAX;
}

static void fill_spec(const struct warden *w, struct sandbox_spec *spec, const char *argv[6])
{
	static const char *const env[] = {ENVIRON_COMMON, ENVIRON_USER, NULL};

	argv[0] = "/usr/bin/python3";
	argv[1] = "-c";
	argv[2] = driver_python;
	argv[3] = w->config->preload;
	argv[4] = "zygote";
	argv[5] = NULL;
	*spec = (struct sandbox_spec){
		.zygote = true,
		.limits = {.time_ms = 365ull * 24 * 3600 * 1000,
			   .grace_ms = 1,
			   .cpus_milli = 1000,
			   .memory_bytes = 2ull << 30,
			   .pids = most_processes(w),
			   .disk_bytes = 64ull << 20,
			   .nofile = 1024},
		.argv = argv,
		.envp = env,
		.path = ENVIRON_PATH,
		.workdir = "/home/user",
		.dir_fd = FD_NONE,
	};
}

/* Whom an ordinary user's zygote may enter is below a user namespace that is its own. */
static int make_pool(struct zygote *z, struct err *e)
{
	const struct idmap map = {
		.uid = {{SANDBOX_UID, geteuid(), 1}},
		.gid = {{SANDBOX_UID, getegid(), 1}},
		.n_uid = 1,
		.n_gid = 1,
		.deny_setgroups = true,
	};

	if (geteuid() == 0 || z->pooled)
		return 0;
	z->pool = userns_make(&map, e);
	z->pooled = z->pool >= 0;
	return z->pooled ? 0 : z->pool;
}

void zygote_pool(const struct warden *w, struct sandbox_spec *spec)
{
	spec->pool.given = w->zygote.pooled;
	spec->pool.fd = w->zygote.pool;
}

static int start(struct warden *w, struct err *e)
{
	struct zygote *z = &w->zygote;
	struct sandbox_spec spec;
	const char *argv[6];
	int pair[2];
	auto_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "zygote");
	auto_close int theirs = pair[1];
	const int stdio[3] = {theirs, null, null};

	live_init(&z->live);
	z->sock = pair[0];
	z->there = true;
	z->forks = 0;
	z->proved = false;
	z->started_us = warden_now_us();
	z->source = (struct source){SOURCE_ZYGOTE, NULL, NULL};
	int r = make_pool(z, e);
	fill_spec(w, &spec, argv);
	zygote_pool(w, &spec);
	if (r >= 0)
		r = ward_spec(w, &spec, e);
	if (r >= 0)
		r = live_make(&z->live, &spec, &w->cgroups, stdio, e);
	if (r >= 0)
		r = live_enter(&z->live, &spec, e);
	if (r >= 0)
		r = warden_watch(w, z->live.sb.pidfd, &z->source, e);
	if (r < 0)
		zygote_end(w);
	return r;
}

void zygote_end(struct warden *w)
{
	struct zygote *z = &w->zygote;
	struct live_end end = {0};

	if (!z->there)
		return;
	warden_unwatch(w, z->live.sb.pidfd);
	fd_close(&z->sock);
	(void)live_remove(&z->live, &end);
	z->there = false;
}

static bool somebody_waits(const struct warden *w)
{
	for (const struct ward *ward = w->wards; ward; ward = ward->next)
		if (ward->state == WARD_MAKING && ward->spec.forked)
			return true;
	return false;
}

static bool is_worn(const struct warden *w)
{
	const struct zygote *z = &w->zygote;

	return z->there &&
	       (z->forks >= FORKS_MAX || warden_now_us() - z->started_us > AGE_MAX_US) &&
	       !somebody_waits(w);
}

bool zygote_ready(struct warden *w)
{
	struct zygote *z = &w->zygote;
	struct err e = ERR_INIT;

	if (z->failures >= FAILURES_MAX)
		return false;
	if (is_worn(w))
		zygote_end(w);
	if (!z->there && start(w, &e) < 0) {
		if (++z->failures == FAILURES_MAX)
			(void)fprintf(stderr, "pinfold: Pythons are not forked: %s\n", e.text);
		return false;
	}
	return true;
}

void zygote_ask(struct warden *w, struct ward *ward, int end)
{
	struct zygote *z = &w->zygote;
	struct fork_ask msg = {.magic = FORK_MAGIC};
	struct err e = ERR_INIT;
	int doors[CGROUP_PARTS + 1], fds[PASSFD_MAX], n = 0;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/time_for_children", (int)ward->live.sb.pid);
	auto_close int time = open(path, O_RDONLY | O_CLOEXEC);
	int r = cgroup_doors(&ward->live.cgroup, doors, &e);

	fds[n++] = ward->live.sb.pidfd;
	fds[n++] = time;
	fds[n++] = end;
	msg.group = doors[0] >= 0;
	if (doors[0] >= 0)
		fds[n++] = doors[0];
	for (int i = 1; i <= CGROUP_PARTS && doors[i] >= 0; i++)
		fds[n++] = doors[i];
	/* Or the guest sees that `end` is closed, and does without. */
	if (r >= 0 && z->there && time >= 0 && end >= 0 &&
	    passfd_send(z->sock, &msg, sizeof(msg), fds, (unsigned)n) == 0)
		z->forks++;
	for (int i = 0; i <= CGROUP_PARTS; i++)
		fd_close(&doors[i]);
}

void zygote_succeeded(struct warden *w)
{
	w->zygote.failures = 0;
	w->zygote.proved = true;
}

void zygote_check(struct warden *w)
{
	const struct zygote *z = &w->zygote;

	if (z->there && !z->proved && warden_now_us() - z->started_us > PATIENCE_US)
		zygote_event(w);
}

void zygote_event(struct warden *w)
{
	zygote_end(w);
	if (++w->zygote.failures == FAILURES_MAX)
		(void)fprintf(stderr, "pinfold: Pythons are not forked: their zygote ends\n");
}
