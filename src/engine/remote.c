/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run in the daemon. The request goes out with the caller's descriptors; once the command runs,
 * its guest talks to us as one of our own would, and the loop is the same. Limits and clean-up are
 * the warden's: it tells what was refused and how it ended over the link.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "engine/guard.h"
#include "sandbox/ask.h"
#include "warden/place.h"
#include "wire/link.h"

#define FOREIGN                                                                                    \
	"it is not yours: ask root to put you into the group pinfold, or start your own with "     \
	"`pinfold serve` on another PINFOLD_SOCKET"

/* 0: connected; -errno. Somebody else's daemon is nobody we would hand our files to. */
static int try_socket(const char *path, int *ret_fd)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	struct ucred peer;
	socklen_t len = sizeof(peer);
	auto_close int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || strlen(path) >= sizeof(to.sun_path))
		return -ENOENT;
	memcpy(to.sun_path, path, strlen(path) + 1);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return -errno;
	if (peer.uid != 0 && peer.uid != geteuid())
		return -EACCES;
	*ret_fd = take_fd(&fd);
	return 0;
}

static int find_socket(char *path, size_t size, int *ret_fd)
{
	static const char of_root[] = "/run/pinfold/pinfold.sock";
	struct err ignored = ERR_INIT;
	int r = place_socket(path, size, &ignored) < 0 ? -ENOENT : try_socket(path, ret_fd);

	if (r == 0 || getenv("PINFOLD_SOCKET") || strcmp(path, of_root) == 0)
		return r;
	(void)snprintf(path, size, "%s", of_root);
	return try_socket(path, ret_fd);
}

/* A socket that nobody listens on any more is as good as none. */
static void say_why(int r, struct err *e)
{
	if (r == -ECONNREFUSED)
		e->kind = ERR_MISSING;
	(void)err_detail(e, "daemon");
}

int remote_open(int *ret_fd, struct err *e)
{
	char path[256] = "";

	if (place_check(e) < 0)
		return -EINVAL;
	int r = find_socket(path, sizeof(path), ret_fd);

	if (r == 0)
		return 0;
	errno = -r;
	(void)err_sys(e, "the daemon at %s", path);
	say_why(r, e);
	if (r == -EACCES)
		return err_remedy(e, FOREIGN);
	return err_remedy(e, "start one with `pinfold serve`: sandboxes that live belong to it");
}

int remote_connect(const struct pinfold_run_options *o, int *ret_fd, struct err *e)
{
	char path[256] = "";

	*ret_fd = FD_NONE;
	if (place_check(e) < 0)
		return -EINVAL;
	if ((o->flags & PINFOLD_LOCAL) || (o->isolation && strcmp(o->isolation, "strict") != 0)) {
		if (!(o->flags & PINFOLD_DAEMON))
			return 0;
		(void)err_set(e, ERR_INVALID, "--isolation: in the daemon it is strict");
		return err_remedy(e, "leave --isolation out, or run it without the daemon");
	}
	int r = find_socket(path, sizeof(path), ret_fd);
	if (r == -EAGAIN) {
		/* It is there. Were we to run by ourselves then, it could not hold us back. */
		(void)err_set(e, ERR_BUSY, "too many callers at once");
		e->retry_ms = 1000;
		return err_remedy(e, "try again in a second");
	}
	if (r == 0 || !(o->flags & PINFOLD_DAEMON))
		return 0;
	errno = -r;
	(void)err_sys(e, "--daemon: %s", path);
	say_why(r, e);
	if (r == -EACCES)
		return err_remedy(e, FOREIGN);
	return err_remedy(e, "start one with `pinfold serve`, or leave --daemon out");
}

static int send_ask(int link, struct link_ask *msg, const int *fds, unsigned n, struct err *e)
{
	msg->magic = LINK_MAGIC;
	msg->version = LINK_VERSION;
	int r = passfd_send(link, msg, sizeof(*msg), fds, n);
	/* Front may have refused us before we asked: what it said is there to be read. */
	if (r < 0 && r != -EPIPE && r != -ECONNRESET) {
		errno = -r;
		return err_sys(e, "ask the daemon");
	}
	return 0;
}

int remote_ask_with(int link, struct link_ask *msg, int fd, struct err *e)
{
	return send_ask(link, msg, &fd, 1, e);
}

/* A name as a number: two that share one share their turns, which is all it is for. */
static uint32_t share_of(const char *tenant)
{
	uint32_t hash = 2166136261u;

	for (const char *c = tenant; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 16777619u;
	return *tenant ? hash | 1 : 0;
}

int remote_ask(int link, struct link_ask *msg, const struct request *req, const int stdio[3],
	       struct err *e)
{
	auto_close int block = FD_NONE, layers = FD_NONE;

	if (req && ask_write(&req->spec, req->best_effort, &block, e) < 0)
		return -EINVAL;
	if (req && deps_bundle(req, &layers, e) < 0)
		return -EINVAL;
	int fds[LINK_FDS_MAX] = {block,
				 req ? stdio[0] : FD_NONE,
				 req ? stdio[1] : FD_NONE,
				 req ? stdio[2] : FD_NONE,
				 FD_NONE,
				 FD_NONE,
				 FD_NONE,
				 FD_NONE};
	unsigned n = LINK_FDS_MIN;
	if (req && req->spec.dir_fd >= 0)
		fds[n++] = req->spec.dir_fd;
	if (req && req->spec.egress.n_ports)
		fds[n++] = req->spec.egress.gate;
	if (req && req->spec.guard)
		fds[n++] = req->spec.guard_fd;
	if (layers >= 0)
		fds[n++] = layers;
	msg->share = req ? share_of(req->tenant) : 0;
	return send_ask(link, msg, fds, LINK_FDS_MAX, e);
}

static int ask(struct pinfold_run *run, const int stdio[3], struct err *e)
{
	struct link_ask msg = {.op = run->exec ? LINK_EXEC : LINK_RUN};

	run->req.spec.prompt = !run->exec && (run->req.flags & PINFOLD_PROMPT);
	if (run->exec)
		(void)snprintf(msg.id, sizeof(msg.id), "%s", run->req.spec.id);
	return remote_ask(run->link, &msg, &run->req, stdio, e);
}

static int daemon_is_gone(struct err *e)
{
	(void)err_set(e, ERR_INTERNAL, "the daemon ended, and the sandbox with it");
	return err_remedy(e, "look at the daemon's log, then run it again");
}

/* The caller does not want to wait any longer. Closing the link takes us out of the queue. */
static int cancelled(struct err *e)
{
	(void)err_set(e, ERR_BUSY, "given up while the daemon had us wait");
	return err_detail(e, "cancelled");
}

int remote_next(int link, int cancel_fd, struct link_msg *msg, int fds[2], struct err *e)
{
	struct pollfd pfd[2] = {{.fd = link, .events = POLLIN},
				{.fd = cancel_fd > 0 ? cancel_fd : -1, .events = POLLIN}};
	int r;

	while ((r = passfd_receive(link, msg, sizeof(*msg), fds, 2, MSG_DONTWAIT)) == -EAGAIN)
		if (poll(pfd, 2, -1) > 0 && pfd[1].revents) /* EINTR: the next receive tells */
			return cancelled(e);
	/* Who closes without having read all makes an error of it once, before what he said. */
	if (r == -EPIPE)
		r = passfd_receive(link, msg, sizeof(*msg), fds, 2, MSG_DONTWAIT);
	return r < 0 ? daemon_is_gone(e) : 0;
}

/* What kind of sandbox it is, or was to be. */
static void take_description(struct pinfold_run *run, const struct link_started *s)
{
	run->warm = s->warm > 2 ? 2 : s->warm;
	(void)snprintf(run->req.spec.id, sizeof(run->req.spec.id), "%.*s",
		       (int)sizeof(run->req.spec.id) - 1, s->sandbox);
	run->record.has_sandbox = true;
	request_held(&run->req, s->group, s->volume);
}

/* Those of the sandbox hold; only the time is the command's own. */
static void take_limits(struct request *req, const struct link_started *s)
{
	struct sandbox_limits *l = &req->spec.limits, own = *l;

	memcpy(l, &s->limits, sizeof(*l));
	l->time_ms = own.time_ms;
	l->grace_ms = own.grace_ms;
	request_held(req, s->group, s->volume);
}

static int take_started(struct pinfold_run *run, const struct link_started *s, int fds[2],
			struct err *e)
{
	if (fds[0] < 0)
		return daemon_is_gone(e);
	run->live_ms = s->limits.time_ms;
	if (run->exec)
		run->layered_on = s->layers;
	run->box_alert = s->alert_kills ? ALERT_KILL : s->alert_pauses ? ALERT_PAUSE : ALERT_LOG;
	if (run->exec)
		take_limits(&run->req, s);
	else
		take_description(run, s);
	run->live.sb.control = take_fd(&fds[0]);
	run->terminal = take_fd(&fds[1]);
	run->awaited = run->exec || s->awaited;
	run->started_us = s->started_ns / 1000;
	run->cpu_before_us = s->cpu_before_us;
	return 0;
}

void remote_error(const struct link_msg *msg, struct err *e)
{
	*e = msg->error;
	e->kind = e->kind < ERR_KINDS ? e->kind : ERR_INTERNAL;
}

static int await_daemon(struct pinfold_run *run, struct err *e)
{
	struct link_msg msg;
	int fds[2] = {FD_NONE, FD_NONE};
	int r = remote_next(run->link, run->cancel_fd, &msg, fds, e);

	if (r >= 0)
		switch ((enum link_kind)msg.kind) {
		case LINK_STARTED: r = take_started(run, &msg.started, fds, e); break;
		case LINK_FAILED:
			take_description(run, &msg.started);
			r = explain_failure(run, msg.step, msg.op, msg.code, e);
			break;
		case LINK_ERROR:
			remote_error(&msg, e);
			run->refused = e->kind == ERR_DENIED || e->kind == ERR_UNSUPPORTED;
			r = -EREMOTEIO;
			break;
		case LINK_DENIAL:
		case LINK_ENDED:
		case LINK_OK:
		case LINK_OUTPUT:
		case LINK_LEFT:
		case LINK_PROCESS:
		case LINK_BLOCK: r = daemon_is_gone(e); break;
		}
	fd_close(&fds[0]);
	fd_close(&fds[1]);
	return r;
}

int remote_start(struct pinfold_run *run, struct err *e)
{
	int stdio[3] = {FD_NONE, FD_NONE, FD_NONE};
	int r = egress_begin(run, e);

	if (r >= 0)
		r = guard_begin(run, e);
	if (r >= 0)
		r = run_make_stdio(run, stdio, e);
	if (r >= 0)
		r = ask(run, stdio, e);
	for (int i = 0; i < 3; i++)
		fd_close(&stdio[i]);
	fd_close(&run->gate_end); /* on its way */
	fd_close(&run->guard_end);
	return r < 0 ? r : await_daemon(run, e);
}

static void take_denial(struct pinfold_run *run, struct link_denial *d)
{
	struct notify_event ev = {.network = d->network,
				  .has_policy = d->network == LINK_NETWORK_POLICY,
				  .port = d->port};

	d->hint[sizeof(d->hint) - 1] = d->what[sizeof(d->what) - 1] = '\0';
	if (d->network == LINK_COMMAND_RULE || d->network == LINK_COMMAND_ASKED) {
		run_deny_command(run, d->network == LINK_COMMAND_RULE ? "command" : "approval",
				 d->what, d->hint);
		return;
	}
	ev.hint = d->network ? NULL : d->hint;
	(void)snprintf(ev.what, sizeof(ev.what), "%.*s", (int)sizeof(d->what) - 1, d->what);
	(void)snprintf(ev.host, sizeof(ev.host), "%.*s", (int)sizeof(d->host) - 1, d->host);
	if (ev.network)
		egress_name(run, &ev);
	run_deny(run, ev.network ? "network" : "syscall", &ev);
}

enum run_stop remote_stop(uint32_t stop)
{
	switch (stop) {
	case LINK_STOP_MEMORY: return STOP_MEMORY;
	case LINK_STOP_CPU_TIME: return STOP_CPU_TIME;
	case LINK_STOP_TIME: return STOP_TIME;
	case LINK_STOP_CALLER: return STOP_CALLER;
	case LINK_STOP_ALERT: return STOP_ALERT;
	default: return STOP_NONE;
	}
}

/* The guest's end may be in our way, so it comes last. */
static void part_later(struct pinfold_run *run)
{
	if (!run->guest_done || run->live.sb.control < 0)
		return;
	(void)epoll_ctl(run->epoll, EPOLL_CTL_DEL, run->live.sb.control,
			NULL); /* or it was not there */
	run->parting = take_fd(&run->live.sb.control);
}

static void take_ended(struct pinfold_run *run, const struct link_ended *end)
{
	if (run->stop == STOP_NONE) {
		run->stop = remote_stop(end->stop);
		run->outlived = run->exec && run->stop == STOP_TIME;
	}
	if (run->exec)
		return; /* the rest is of all that ever ran in that sandbox */
	run->usage = (struct cgroup_usage){
		.memory_peak_bytes = end->memory_peak_bytes,
		.pids_peak = end->pids_peak,
		.cpu_us = end->cpu_us,
		.oom_kills = end->oom_kills,
		.pids_refused = end->pids_refused,
	};
	/* Nobody has waited for the guest yet: what it said itself is as good. */
	if (end->memory_kb)
		run->rusage = (struct rusage){
			.ru_utime = {(time_t)(end->user_us / 1000000),
				     (suseconds_t)(end->user_us % 1000000)},
			.ru_stime = {(time_t)(end->system_us / 1000000),
				     (suseconds_t)(end->system_us % 1000000)},
			.ru_maxrss = (long)end->memory_kb,
		};
	run->pids_full = run->pids_full || end->pids_full;
	run->gave_up = end->stuck;
	part_later(run);
}

bool remote_message(struct pinfold_run *run)
{
	struct link_msg msg;
	struct err e = ERR_INIT;
	int fds[1];
	int r = passfd_receive(run->link, &msg, sizeof(msg), fds, 1, MSG_DONTWAIT);

	/* A question of ours that nobody read any more; what was told before is behind that. */
	if (r == -EPIPE)
		r = passfd_receive(run->link, &msg, sizeof(msg), fds, 1, MSG_DONTWAIT);
	fd_close(&fds[0]);
	if (r == -EAGAIN)
		return false;
	if (r >= 0 && msg.kind == LINK_DENIAL) {
		take_denial(run, &msg.denial);
		return false;
	}
	if (r >= 0 && msg.kind == LINK_OK && run->exec) {
		run->usage.oom_kills = msg.ok.value;
		run->usage.pids_refused = msg.ok.pids_refused;
	} else if (r >= 0 && msg.kind == LINK_ENDED) {
		take_ended(run, &msg.ended);
	} else {
		(void)daemon_is_gone(&e);
		run_fail(run, &e, 125);
	}
	return true;
}

/* Only of a command that ended by itself: the warden knows better why another did, once the guest
 * has gone. */
void remote_tell(const struct pinfold_run *run)
{
	struct link_ask msg = {.magic = LINK_MAGIC, .version = LINK_VERSION, .op = LINK_TELL};

	if (!run->req.spec.prompt)
		return;
	msg.arg = run_is_quiet(run) ? LINK_QUIET : 0;
	if (run->stop == STOP_NONE && run->have_status && WIFEXITED(run->wait_status))
		(void)passfd_send(run->link, &msg, sizeof(msg), NULL, 0); /* or all is over */
	else
		(void)shutdown(run->live.sb.control, SHUT_WR); /* or it is gone */
}

/* Did it say something on standard error, whether or not somebody read it yet? */
static bool complains(const struct pinfold_run *run)
{
	struct pollfd p = {.fd = run->out[1], .events = POLLIN};

	return run->capture[1].total > 0 ||
	       (run->out[1] >= 0 && poll(&p, 1, 0) == 1 && p.revents & POLLIN);
}

bool remote_ask_hit(const struct pinfold_run *run)
{
	struct link_ask msg = {.magic = LINK_MAGIC, .version = LINK_VERSION, .op = LINK_TELL};

	return run->link >= 0 && run->stop == STOP_NONE &&
	       (run->wait_status != 0 || complains(run)) &&
	       passfd_send(run->link, &msg, sizeof(msg), NULL, 0) >= 0;
}

void remote_kill(const struct pinfold_run *run)
{
	struct link_ask msg = {.magic = LINK_MAGIC, .version = LINK_VERSION, .op = LINK_KILL};

	(void)passfd_send(run->link, &msg, sizeof(msg), NULL, 0); /* or all is over */
}
