/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watcher. A process that listens goes through: next (started, takes no connection) -> api
 * (told to listen, once whoever was it before has told what it has) -> elder (after a SIGHUP, until
 * nobody can ask for what it has). One that does not come up as far as `api` changes nothing.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "api/link.h"
#include "base/fd.h"
#include "base/passfd.h"
#include "cmd/http_int.h"
#include "cmd/say.h"

#define AGAIN_MS 500	  /* between a death and the next start */
#define PATIENCE_MS 15000 /* more than an API gives its connections when it is to end */
#define TURN_MS 10

/* Who is told to end finishes what was begun, for a while. One that does not must not keep us: the
 * daemon waits for us, or is dead already. */
static void end_one(pid_t *pid, int signo)
{
	unsigned waited = 0;

	if (*pid > 0)
		(void)kill(*pid, signo);
	while (*pid > 0 && waitpid(*pid, NULL, WNOHANG) == 0) {
		(void)poll(NULL, 0, TURN_MS);
		waited += TURN_MS;
		if (waited >= PATIENCE_MS)
			(void)kill(*pid, SIGKILL);
	}
	*pid = 0;
}

static void drop(struct proc *p, int signo)
{
	end_one(&p->pid, signo);
	end_one(&p->keeper, signo);
	fd_close(&p->orders);
	*p = (struct proc)PROC_NONE;
}

static void order(const struct proc *p, enum order_kind kind, int fd)
{
	struct order m = {kind};

	(void)passfd_send(p->orders, &m, sizeof(m), &fd, fd >= 0); /* or it is dead: we will see */
}

/* A link between a front and one that has something. */
static void join(const struct proc *front, enum order_kind to_front, const struct proc *other,
		 enum order_kind to_other)
{
	int pair[2];

	if (!other->ready || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return;
	order(other, to_other, pair[0]);
	order(front, to_front, pair[1]);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

/* It finishes what it began. When there are too many, the oldest has had its time. */
static void make_elder(struct side *s, struct proc *p)
{
	unsigned i = 0;

	while (i < ELDERS_MAX && s->elder[i].pid)
		i++;
	if (i == ELDERS_MAX) {
		drop(&s->elder[0], SIGTERM);
		for (i = 0; i + 1 < ELDERS_MAX; i++)
			s->elder[i] = s->elder[i + 1];
	}
	s->elder[i] = *p;
	*p = (struct proc)PROC_NONE;
}

static void promote(struct side *s)
{
	for (unsigned i = 0; i < ELDERS_MAX; i++)
		join(&s->next, ORDER_ELDER, &s->elder[i], ORDER_TELL);
	join(&s->next, ORDER_RUNNER, &s->runs, ORDER_TELL);
	if (s->api.pid) {
		join(&s->next, ORDER_ELDER, &s->api, ORDER_YIELD);
		make_elder(s, &s->api);
		(void)fprintf(stderr, "pinfold: HTTP: a new process serves\n");
	}
	s->api = s->next;
	s->next = (struct proc)PROC_NONE;
	order(&s->api, ORDER_LISTEN, FD_NONE);
}

static void take_ready(struct side *s, struct proc *p)
{
	struct order m;
	int n = passfd_receive(p->orders, &m, sizeof(m), NULL, 0, MSG_DONTWAIT);

	if (n == -EPIPE)
		fd_close(&p->orders); /* it is dying */
	if (n < 0 || m.kind != ORDER_READY)
		return;
	p->ready = true;
	if (p == &s->runs && s->api.pid)
		join(&s->api, ORDER_RUNNER, p, ORDER_TELL);
	/* From its first connection on a new one knows the runner. */
	if (s->next.ready && (s->runs.ready || !s->runs.pid))
		promote(s);
}

static void renew_tls(struct side *s)
{
	struct err e = ERR_INIT;

	if (!s->tls.cert_path)
		return;
	if (tls_renew(&s->tls, &e) < 0)
		say_failure(&e, false);
	else
		(void)fprintf(stderr, "pinfold: TLS: certificate read\n");
}

/* false: we are to end. */
static bool heed_leash(struct side *s)
{
	char byte;
	ssize_t n = read(s->leash, &byte, 1);

	if (n == 1) {
		renew_tls(s);
		if (s->api.pid && !s->next.pid)
			proc_start(s, &s->next, false);
	}
	return n == 1 || (n < 0 && errno == EINTR);
}

static void bury(struct side *s, pid_t gone)
{
	struct err e = ERR_INIT;

	if (gone == s->tls.pid) {
		if (tls_start(&s->tls, &e) < 0)
			say_failure(&e, false);
		return;
	}
	struct proc *all[3 + ELDERS_MAX] = {&s->api, &s->next, &s->runs};
	for (unsigned i = 0; i < ELDERS_MAX; i++)
		all[3 + i] = &s->elder[i];
	for (unsigned i = 0; i < 3 + ELDERS_MAX; i++) {
		struct proc *p = all[i];

		if (gone != p->pid && gone != p->keeper)
			continue;
		if (gone == p->keeper)
			p->keeper = 0;
		else
			p->pid = 0;
		if (i >= 3 && p->pid)
			return; /* an elder does without */
		if (p == &s->next && s->api.pid)
			(void)fprintf(stderr, "pinfold: HTTP: the new process did not start; the "
					      "former serves\n");
		/* What it keeps may be in the middle of something; who dies was not. */
		drop(p, i >= 3 ? SIGTERM : SIGKILL);
		return;
	}
}

static void start_missing(struct side *s)
{
	if (!s->runs.pid)
		proc_start(s, &s->runs, true);
	if (!s->api.pid && !s->next.pid)
		proc_start(s, &s->next, false);
}

/* The end of what TLS is on comes with the API's; so it is told first and waited for last. */
static void end_all(struct side *s)
{
	struct proc *all[3 + ELDERS_MAX] = {&s->api, &s->next, &s->runs};

	for (unsigned i = 0; i < ELDERS_MAX; i++)
		all[3 + i] = &s->elder[i];
	if (s->tls.pid > 0)
		(void)kill(s->tls.pid, SIGTERM);
	for (unsigned i = 0; i < 3 + ELDERS_MAX; i++)
		if (all[i]->pid > 0)
			(void)kill(all[i]->pid, SIGTERM);
	for (unsigned i = 0; i < 3 + ELDERS_MAX; i++)
		drop(all[i], SIGTERM);
	end_one(&s->tls.pid, SIGTERM);
}

/* What is wrong with the certificate is known before anything else is started. */
static void start_tls(struct side *s, int ready)
{
	struct tls_answer a = {.e = ERR_INIT};

	a.result = tls_start(&s->tls, &a.e);
	(void)fd_write_all(ready, &a, sizeof(a)); /* who waits sees the end of the pipe */
	(void)close(ready);
	if (a.result < 0) {
		end_one(&s->tls.pid, SIGKILL);
		_exit(1);
	}
}

static uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail */
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* false: we are to end. */
static bool turn(struct side *s)
{
	struct pollfd p[3] = {{.fd = s->leash, .events = POLLIN},
			      {.fd = s->next.ready ? -1 : s->next.orders, .events = POLLIN},
			      {.fd = s->runs.ready ? -1 : s->runs.orders, .events = POLLIN}};
	pid_t gone;

	if (poll(p, 3, AGAIN_MS) > 0) {
		if (p[0].revents && !heed_leash(s))
			return false;
		if (p[2].revents)
			take_ready(s, &s->runs);
		if (p[1].revents)
			take_ready(s, &s->next);
	}
	while ((gone = waitpid(-1, NULL, WNOHANG)) > 0)
		bury(s, gone);
	return true;
}

/* The daemon listens after we were forked, and one that died may have left its socket: what takes a
 * connection is it. */
static bool find_door(struct side *s)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	auto_close int door = open(s->socket, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	auto_close int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (door < 0 || fd < 0)
		return false;
	(void)snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d", door);
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0 && errno != EAGAIN)
		return false;
	s->door = take_fd(&door);
	return true;
}

/* Whoever serves for root has no right to pass through directories that are root's alone, as a
 * XDG_RUNTIME_DIR is. So he is handed the daemon's socket itself. false: we are to end. */
static bool await_daemon(struct side *s)
{
	struct pollfd leash = {.fd = s->leash, .events = POLLIN};

	while (!find_door(s))
		if (poll(&leash, 1, TURN_MS) > 0 && !heed_leash(s))
			return false;
	return true;
}

void http_watch(struct side *s, int ready)
{
	uint64_t started_ms = 0;
	sigset_t held;

	(void)prctl(PR_SET_NAME, "pinfold-http", 0, 0, 0);
	/* Ctrl-C is for the daemon; it lets us go when it has heard. Held, not ignored: so will
	 * those be that we start, and who is told to end before he listens hears it then. */
	(void)sigemptyset(&held);
	(void)sigaddset(&held, SIGINT);
	(void)sigaddset(&held, SIGTERM);
	(void)sigprocmask(SIG_SETMASK, &held, NULL);
	if (s->tls.cert_path)
		start_tls(s, ready);
	bool go_on = await_daemon(s);
	while (go_on) {
		if (now_ms() >= started_ms + AGAIN_MS) {
			started_ms = now_ms();
			start_missing(s);
		}
		go_on = turn(s);
	}
	end_all(s);
	_exit(0);
}
