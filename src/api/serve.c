/* SPDX-License-Identifier: Apache-2.0 */
#include "api/serve.h"

#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include "api/api.h"
#include "api/attend.h"
#include "api/boxes.h"
#include "api/elders.h"
#include "api/heirs.h"
#include "api/keeper.h"
#include "api/metrics.h"
#include "api/quota.h"
#include "api/repeat.h"
#include "api/runs.h"
#include "api/server.h"
#include "api/settler.h"
#include "api/snapshots.h"
#include "api/tokens.h"
#include "api/worker.h"
#include "base/fd.h"
#include "base/passfd.h"
#include "pinfold/ledger.h"
#include "pinfold/replay.h"
#include "pinfold/pinfold.h"

#define WORKERS_MAX 1024u
#define DRAIN_MS 10000u

/* What the signals' watch needs. */
struct ending {
	struct watch watch;
	struct timer timer;
	struct api *api;
	struct server *server;
};

/* What the watcher tells us, and what that is done with. */
struct ordered {
	struct watch watch;
	struct api *api;
	const struct api_config *config;
	bool may_listen, listens;
};

int api_open(struct api *api, struct err *e)
{
	int r = 0;

	value_init();
	*api = (struct api){.run_flags = PINFOLD_DAEMON | PINFOLD_FOREIGN | PINFOLD_PROMPT,
			    .state = FD_NONE,
			    .approvals = FD_NONE};
	r = loop_new(&api->loop, e);
	if (r >= 0)
		r = workers_new(WORKERS_MAX, &api->workers, e);
	if (r >= 0)
		r = runs_new(api->loop, &api->runs, e);
	if (r >= 0)
		r = boxes_new(&api->boxes, e);
	if (r >= 0)
		r = metrics_new(&api->metrics, e);
	if (r >= 0)
		r = repeats_new(&api->repeats, e);
	if (r >= 0)
		r = snapshots_new(&api->snapshots, e);
	if (r >= 0)
		r = attendant_new(&api->attendant, e);
	if (r < 0)
		api_close(api);
	return r;
}

void api_close(struct api *api)
{
	workers_free(api->workers);
	settler_free(api->settler);
	attendant_free(api->attendant);
	boxes_free(api->boxes);
	runs_free(api->runs);
	metrics_free(api->metrics);
	repeats_free(api->repeats);
	snapshots_free(api->snapshots);
	tokens_free(api->tokens);
	loop_free(api->loop);
}

static struct ending *of_timer(struct timer *t)
{
	return (struct ending *)((char *)t - offsetof(struct ending, timer));
}

/* All gone, or the time is over? */
static void look_again(struct timer *t)
{
	struct ending *end = of_timer(t);
	struct server_counts n;
	static unsigned turns;

	server_count(end->server, &n);
	if (!n.connections || ++turns >= DRAIN_MS / 100)
		loop_stop(end->api->loop);
	else
		timer_set(end->api->loop, t, loop_now_ms() + 100);
}

static void signalled(struct watch *w, uint32_t events)
{
	struct ending *end = (struct ending *)w;
	struct signalfd_siginfo info;

	(void)events;
	if (read(w->fd, &info, sizeof(info)) != sizeof(info))
		return;
	server_drain(end->server);
	end->timer.fire = look_again;
	timer_set(end->api->loop, &end->timer, loop_now_ms() + 1);
}

static int watch_signals(struct ending *end, struct err *e)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return err_sys(e, "signalfd");
	watch_init(&end->watch, end->api->loop, fd, signalled);
	return watch_set(&end->watch, EPOLLIN) < 0 ? err_sys(e, "epoll") : 0;
}

static void adopt(const struct link_run *run, void *arg)
{
	quota_adopt(arg, run->tenant, run->sandbox);
}

/* What tenants used is read now: who counted before us has just written it. */
static int begin_to_listen(struct api *api, const struct api_config *config, struct err *e)
{
	int r = 0;

	if (config->dir >= 0 && config->state >= 0 && !config->runner)
		r = quotas_new(config->dir, config->state, &api->quotas, e);
	if (r >= 0 && api->elders)
		elders_each_live(api->elders, adopt, api->quotas);
	if (r >= 0 && api->quotas)
		r = quotas_watch(api->quotas, e);
	for (unsigned i = 0; r >= 0 && i < config->n_listen; i++)
		r = server_listen(api->server, config->listen[i].fd, config->listen[i].way, e);
	return r;
}

static void synced(void *arg)
{
	struct ordered *o = arg;
	struct err e = ERR_INIT;

	if (!o->may_listen || o->listens || !elders_synced(o->api->elders))
		return;
	o->listens = true;
	if (begin_to_listen(o->api, o->config, &e) < 0) {
		(void)fprintf(stderr, "pinfold: HTTP: %s\n", e.text);
		loop_stop(o->api->loop);
	}
}

static void take_order(struct ordered *o, enum order_kind kind, int *fd)
{
	struct api *api = o->api;

	switch (kind) {
	case ORDER_TELL: heirs_add(api->heirs, take_fd(fd)); return;
	case ORDER_YIELD:
		(void)prctl(PR_SET_NAME, "pinfold-elder", 0, 0, 0);
		quotas_yield(api->quotas);
		heirs_add(api->heirs, take_fd(fd));
		heirs_yield(api->heirs);
		return;
	case ORDER_ELDER:
	case ORDER_RUNNER: elders_add(api->elders, take_fd(fd), kind == ORDER_RUNNER); return;
	case ORDER_LISTEN:
		o->may_listen = true;
		synced(o);
		return;
	case ORDER_READY: return; /* not to us */
	}
}

static void ordered(struct watch *w, uint32_t events)
{
	struct ordered *o = (struct ordered *)w;
	struct order m;
	int fd = FD_NONE;
	int n;

	(void)events;
	while ((n = passfd_receive(w->fd, &m, sizeof(m), &fd, 1, MSG_DONTWAIT)) >= 0) {
		if (n == 1 || m.kind == ORDER_LISTEN)
			take_order(o, m.kind, &fd);
		fd_close(&fd);
	}
	if (n != -EAGAIN)
		watch_done(w); /* the watcher is gone, and so are we */
}

/* The watcher says when to listen, and who else serves. */
static int obey(struct ordered *o, struct err *e)
{
	struct order ready = {ORDER_READY};
	struct api *api = o->api;
	int r = elders_new(api, o->config->keep_ms, &api->elders, e);

	if (r >= 0)
		r = heirs_new(api, api->server, o->config->runner, &api->heirs, e);
	if (r < 0)
		return r;
	runs_tell(api->runs, api->heirs);
	elders_on_synced(api->elders, synced, o);
	watch_init(&o->watch, api->loop, o->config->orders, ordered);
	if (watch_set(&o->watch, EPOLLIN) < 0 ||
	    passfd_send(o->config->orders, &ready, sizeof(ready), NULL, 0) < 0)
		return err_sys(e, "orders");
	return 0;
}

static int open_server(struct api *api, const struct api_config *config, struct server **ret,
		       struct err *e)
{
	struct server_config sc = {.hosts = config->hosts,
				   .origins = config->origins,
				   .open = config->open,
				   .open_probes = config->open_probes};
	int r = server_new(api, &sc, ret, e);

	if (r >= 0 && config->dir >= 0)
		r = tokens_new(config->dir, &api->tokens, e);
	if (r >= 0 && config->keeper >= 0)
		r = keeper_new(config->keeper, &api->keeper, e);
	if (r >= 0 && config->mount)
		config->mount(api, *ret, config->mount_arg);
	api->server = r < 0 ? NULL : *ret;
	return r;
}

int api_serve(const struct api_config *config, struct err *e)
{
	struct api api;
	struct server *server = NULL;
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files); /* or it stays as it is */
	}
	(void)sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	struct pinfold_error failure;
	if (config->ledger >= 0 && pinfold_ledger_use(config->ledger, &failure) < 0)
		return api_error(e, &failure);
	pinfold_replay_use(config->kept);
	int r = api_open(&api, e);
	if (r >= 0 && !config->settled)
		r = settler_new(&api.settler, e);
	if (r < 0)
		return r;
	runs_keep(api.runs, config->keep_ms, config->keep_bytes);
	struct ending end = {.api = &api};
	r = open_server(&api, config, &server, e);
	end.server = server;
	api.log = config->log;
	api.state = config->state;
	api.approvals = config->approvals;
	if (r >= 0) {
		metrics_server(api.metrics, server);
		r = watch_signals(&end, e);
	}
	struct ordered orders = {.api = &api, .config = config};
	if (r >= 0)
		r = config->orders < 0 ? begin_to_listen(&api, config, e) : obey(&orders, e);
	if (r >= 0)
		r = loop_run(api.loop, e);
	quotas_free(take_ptr(&api.quotas)); /* saved: the next one goes on from there */
	settler_free(api.settler);
	/* What still runs ends with our connections to the daemon, when the process does. */
	return r;
}
