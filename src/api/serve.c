/* SPDX-License-Identifier: Apache-2.0 */
#include "api/serve.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include "api/api.h"
#include "api/boxes.h"
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
#include "pinfold/ledger.h"
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

int api_open(struct api *api, struct err *e)
{
	int r = 0;

	value_init();
	*api = (struct api){.run_flags = PINFOLD_DAEMON | PINFOLD_FOREIGN | PINFOLD_PROMPT,
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
	if (r < 0)
		api_close(api);
	return r;
}

void api_close(struct api *api)
{
	workers_free(api->workers);
	settler_free(api->settler);
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

static int open_server(struct api *api, const struct api_config *config, struct server **ret,
		       struct err *e)
{
	struct server_config sc = {
		.hosts = config->hosts, .origins = config->origins, .open = config->open};
	int r = server_new(api, &sc, ret, e);

	if (r >= 0 && config->dir >= 0)
		r = tokens_new(config->dir, &api->tokens, e);
	if (r >= 0 && config->dir >= 0 && config->state >= 0)
		r = quotas_new(config->dir, config->state, &api->quotas, e);
	if (r >= 0 && api->quotas)
		r = quotas_watch(api->quotas, e);
	if (r >= 0 && config->keeper >= 0)
		r = keeper_new(config->keeper, &api->keeper, e);
	for (unsigned i = 0; r >= 0 && i < config->n_listen; i++)
		r = server_listen(*ret, config->listen[i].fd, config->listen[i].way, e);
	if (r >= 0 && config->mount)
		config->mount(api, *ret, config->mount_arg);
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
	int r = api_open(&api, e);
	if (r >= 0 && !config->settled)
		r = settler_new(&api.settler, e);
	if (r < 0)
		return r;
	struct ending end = {.api = &api};
	r = open_server(&api, config, &server, e);
	end.server = server;
	api.log = config->log;
	api.approvals = config->approvals;
	if (r >= 0) {
		metrics_server(api.metrics, server);
		r = watch_signals(&end, e);
	}
	if (r >= 0)
		r = loop_run(api.loop, e);
	quotas_free(take_ptr(&api.quotas)); /* saved: the next one goes on from there */
	settler_free(api.settler);
	/* What still runs ends with our connections to the daemon, when the process does. */
	return r;
}
