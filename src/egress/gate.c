/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's process: main line, loop, and what its starter says. */
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "egress/gate_int.h"
#include "wire/fds.h"

#define TICK_MS 1000
#define EVENTS 64

struct gate gate = {.epoll = FD_NONE, .control = {.fd = FD_NONE}};

int gate_watch(struct source *s, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = s};

	return epoll_ctl(gate.epoll, EPOLL_CTL_ADD, s->fd, &ev) < 0 ? -errno : 0;
}

void gate_forget(struct source *s)
{
	/* The other end of a descriptor may be held by others, so closing is not enough. */
	if (s->fd >= 0)
		(void)epoll_ctl(gate.epoll, EPOLL_CTL_DEL, s->fd, NULL); /* it may not be there */
	fd_close(&s->fd);
}

static void close_all(int *fds, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		fd_close(&fds[i]);
}

/* The starter has one more sandbox, or is gone. */
static void on_control(struct source *s, uint32_t events)
{
	struct gate_open msg;
	struct err e = ERR_INIT;
	int fds[GATE_OPEN_FDS_MAX];
	int n = passfd_receive(s->fd, &msg, sizeof(msg), fds, GATE_OPEN_FDS_MAX, MSG_DONTWAIT);

	(void)events;
	if (n == -EAGAIN || n == -EINTR)
		return;
	if (n < 0) {
		gate.ended = true;
		return;
	}
	msg.resolver[sizeof(msg.resolver) - 1] = msg.sandbox[sizeof(msg.sandbox) - 1] = '\0';
	if (n < (int)GATE_OPEN_FDS || msg.magic != GATE_MAGIC || msg.version != GATE_VERSION ||
	    (msg.resolver[0] && resolve_servers(msg.resolver, &e) < 0)) {
		close_all(fds, GATE_OPEN_FDS_MAX); /* who holds the other ends sees it */
		return;
	}
	(void)box_open(&msg, fds, &e); /* the same */
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail for this clock */
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void tick(void)
{
	static uint64_t last_ms;

	if (gate.now_ms - last_ms < TICK_MS)
		return;
	last_ms = gate.now_ms;
	for (struct conn *c = gate.conns, *next; c; c = next) {
		next = c->next;
		if (gate.now_ms >= c->deadline_ms)
			conn_timeout(c);
	}
	for (struct box *b = gate.boxes; b; b = b->next) {
		checks_tick(b);
		spares_tick(b);
		box_report(b, true);
	}
}

/* Nothing of a turn points to them any more, but for the list of those that have more to do: who
 * closed after he was put there is freed a turn later. */
static void bury(void)
{
	struct conn *later = NULL;

	while (gate.dead) {
		struct conn *c = gate.dead;

		gate.dead = c->next;
		if (c->is_busy) {
			c->next = later;
			later = c;
			continue;
		}
		stage_done(c);
		free(c->hello);
		free(c);
	}
	gate.dead = later;
	spares_bury();
	for (struct box **at = &gate.boxes; *at;) {
		struct box *b = *at;

		if (!b->is_dead) {
			at = &b->next;
			continue;
		}
		*at = b->next;
		box_free(b);
	}
}

static void run_busy(void)
{
	struct conn *all = gate.busy;

	gate.busy = NULL;
	while (all) {
		struct conn *c = all;

		all = c->next_busy;
		c->is_busy = false;
		if (c->state != CONN_CLOSED)
			conn_ready(c);
	}
}

static int wait_ms(void)
{
	int wait = gate.boxes ? TICK_MS : -1, asked = resolve_wait_ms();

	if (gate.busy)
		return 0;
	return asked >= 0 && (wait < 0 || asked < wait) ? asked : wait;
}

static void turn(void)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(gate.epoll, events, EVENTS, wait_ms());

	gate.now_ms = now_ms();
	for (int i = 0; i < n; i++) {
		struct source *s = events[i].data.ptr;

		if (s->fd >= 0)
			s->ready(s, events[i].events);
	}
	run_busy();
	resolve_tick();
	tick();
	bury();
}

int main(void)
{
	struct err e = ERR_INIT;
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	/* A terminal's signals are for who started us; a client that is gone is no reason to
	 * end. */
	for (int sig = SIGHUP; sig <= SIGTERM; sig++)
		(void)sigaction(sig, &ignore, NULL);
	gate.control = (struct source){GUEST_CTL, on_control};
	gate.epoll = epoll_create1(EPOLL_CLOEXEC);
	gate.now_ms = now_ms();
	if (gate.epoll < 0 || resolve_init(&e) < 0 || gate_confine(&e) < 0 ||
	    gate_watch(&gate.control, EPOLLIN) < 0)
		return 1;
	while (!gate.ended)
		turn();
	return 0;
}
