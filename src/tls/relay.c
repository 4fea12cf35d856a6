/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/relay.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include "api/door.h"
#include "base/fd.h"
#include "base/passfd.h"
#include "http/tls.h"
#include "tls/program.h"

/* More than the API takes: it is the first to be full, and knows who is idle. */
#define CONNS_MAX 4352u
#define FDS_OWN 32u
#define BUFFER 16384u /* a record of TLS */
#define SHAKE_MS 10000u
#define LAST_MS 60000u /* for what the API has said already */
#define TURNS 16u      /* of one connection before the others have theirs */
#define WATCHES 2u

enum what { WHAT_LISTENER, WHAT_WATCH, WHAT_CLIENT, WHAT_INNER };

/* Something that epoll tells of. */
struct source {
	enum what what;
	int fd;
	uint32_t events; /* that it is asked for */
	bool added;
	void *owner; /* struct conn, or the function of a watch */
};

struct buffer {
	char *data; /* while something is in it */
	size_t at, len;
};

enum state { SHAKING, OPEN, CLOSING };

struct conn {
	struct source client, inner;
	struct tls *tls;
	enum state state;
	uint64_t until_ms;	/* 0: no limit */
	struct buffer up, down; /* to the API, to the client */
	bool up_over;		/* the client says no more */
	bool down_over;		/* the API says no more */
	bool inner_gone;	/* the API has closed: what it said can be read without waiting */
	char from[FROM_SIZE];
	struct conn *prev, *next;
};

struct relay {
	int epoll, door;
	struct source listener[TLS_LISTEN_MAX], watch[WATCHES];
	void (*ready[WATCHES])(struct relay *r, int fd);
	unsigned n_listener, n_watch;
	struct tls_server *tls;
	struct conn *first, *last; /* oldest first */
	struct conn *dead;	   /* until the events at hand are done with */
	unsigned count, max;
	bool draining, paused;
};

static uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* An error here is one of memory: whoever it is for is closed by the caller. */
static int ask(struct relay *r, struct source *s, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = s};

	if (s->added && s->events == events)
		return 0;
	s->events = events;
	int op = s->added ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
	s->added = true;
	return epoll_ctl(r->epoll, op, s->fd, &ev);
}

static void pause_listeners(struct relay *r, bool paused)
{
	r->paused = paused;
	for (unsigned i = 0; i < r->n_listener && !r->draining; i++)
		(void)ask(r, &r->listener[i], paused ? 0 : EPOLLIN); /* was added: cannot fail */
}

/* Memory is given back later: an event that was fetched already may name it. */
static void gone(struct relay *r, struct conn *c)
{
	if (c->client.fd < 0)
		return;
	tls_end(c->tls);
	fd_close(&c->client.fd);
	fd_close(&c->inner.fd);
	free(c->up.data);
	free(c->down.data);
	*(c->prev ? &c->prev->next : &r->first) = c->next;
	*(c->next ? &c->next->prev : &r->last) = c->prev;
	c->next = r->dead;
	r->dead = c;
	r->count--;
	if (r->paused)
		pause_listeners(r, false);
}

static void free_dead(struct relay *r)
{
	while (r->dead) {
		struct conn *c = r->dead;

		r->dead = c->next;
		free(c);
	}
}

/* Who has waited longest for a handshake makes room. */
static bool drop_shaking(struct relay *r)
{
	for (struct conn *c = r->first; c; c = c->next)
		if (c->state == SHAKING) {
			gone(r, c);
			return true;
		}
	return false;
}

static void write_from(const struct sockaddr_storage *at, char ret[FROM_SIZE])
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)at;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)at;
	char text[INET6_ADDRSTRLEN] = "";

	if (at->ss_family == AF_INET6) {
		(void)inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text));
		(void)snprintf(ret, FROM_SIZE, "[%s]:%u", text, ntohs(in6->sin6_port));
	} else {
		(void)inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
		(void)snprintf(ret, FROM_SIZE, "%s:%u", text, ntohs(in->sin_port));
	}
}

static void take(struct relay *r, int fd, const struct sockaddr_storage *from)
{
	struct conn *c = r->count < r->max || drop_shaking(r) ? calloc(1, sizeof(*c)) : NULL;
	struct err ignored = ERR_INIT;
	int one = 1;

	if (!c || tls_new(r->tls, fd, &c->tls, &ignored) < 0) {
		free(c);
		(void)close(fd);
		return;
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	write_from(from, c->from);
	c->client = (struct source){.what = WHAT_CLIENT, .fd = fd, .owner = c};
	c->inner = (struct source){.what = WHAT_INNER, .fd = FD_NONE, .owner = c};
	c->until_ms = now_ms() + SHAKE_MS;
	c->prev = r->last;
	*(r->last ? &r->last->next : &r->first) = c;
	r->last = c;
	r->count++;
	if (ask(r, &c->client, EPOLLIN) < 0)
		gone(r, c);
}

static void incoming(struct relay *r, const struct source *s)
{
	for (unsigned i = 0; i < TURNS; i++) {
		struct sockaddr_storage from = {0};
		socklen_t len = sizeof(from);
		int fd = accept4(s->fd, (struct sockaddr *)&from, &len,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			take(r, fd, &from);
		} else if (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR) {
			return;
		} else if (!drop_shaking(r)) {
			pause_listeners(r, true); /* until somebody leaves, or the next look */
			return;
		}
	}
}

/* Give the API its end. It always reads the door, so a full one is an API that is not there. */
static int open_inner(struct relay *r, struct conn *c)
{
	struct door_message m = {""};
	int pair[2];

	memcpy(m.from, c->from, sizeof(m.from));
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -errno;
	int sent = passfd_send(r->door, &m, sizeof(m), &pair[1], 1);
	(void)close(pair[1]);
	c->inner.fd = pair[0];
	c->state = OPEN;
	c->until_ms = 0;
	return sent;
}

static bool shake(struct relay *r, struct conn *c, uint32_t *client)
{
	int n = tls_handshake(c->tls);

	if (n == 0)
		return open_inner(r, c) == 0;
	*client |= n == TLS_WANT_WRITE ? EPOLLOUT : EPOLLIN;
	return n == TLS_WANT_READ || n == TLS_WANT_WRITE;
}

static bool fill(struct buffer *b)
{
	b->at = b->len = 0;
	if (!b->data)
		b->data = malloc(BUFFER);
	return b->data;
}

static void drop_empty(struct buffer *b)
{
	if (b->at == b->len) {
		free(b->data);
		*b = (struct buffer){0};
	}
}

/*
 * The two directions. Each moves what it can once and notes what it waits for. > 0: moved
 * something; 0: waits; < 0: the connection is of no use.
 */
static int move_up(struct conn *c, uint32_t *client, uint32_t *inner)
{
	if (!c->up.data && !c->up_over) {
		if (!fill(&c->up))
			return -ENOMEM;
		ssize_t n = tls_read(c->tls, c->up.data, BUFFER);
		c->up.len = n > 0 ? (size_t)n : 0;
		drop_empty(&c->up);
		if (n == TLS_WANT_READ || n == TLS_WANT_WRITE) {
			*client |= n == TLS_WANT_READ ? EPOLLIN : EPOLLOUT;
			return 0;
		}
		if (n < 0)
			return (int)n;
		c->up_over = n == 0;
		if (n == 0 && c->inner.fd >= 0)
			(void)shutdown(c->inner.fd, SHUT_WR); /* or it is gone, which we see */
		return 1;
	}
	if (!c->up.data)
		return 0;
	ssize_t n = send(c->inner.fd, c->up.data + c->up.at, c->up.len - c->up.at, MSG_NOSIGNAL);
	if (n < 0 && errno == EAGAIN) {
		*inner |= EPOLLOUT;
		return 0;
	}
	if (n < 0 && !c->down_over) { /* it listens no more, but what it said is still there */
		c->up_over = true;
		n = (ssize_t)(c->up.len - c->up.at);
	}
	if (n < 0)
		return -errno;
	c->up.at += (size_t)n;
	drop_empty(&c->up);
	return 1;
}

static int say_last(struct conn *c, uint32_t *client)
{
	int n = tls_close(c->tls);

	if (n == TLS_WANT_WRITE || n == TLS_WANT_READ) {
		*client |= EPOLLOUT;
		return 0;
	}
	if (n < 0 || c->inner_gone)
		return -EPIPE;
	c->state = CLOSING;
	(void)shutdown(c->client.fd, SHUT_WR); /* or he is gone, which we see */
	return 1;
}

static int move_down(struct conn *c, uint32_t *client, uint32_t *inner)
{
	if (c->state == CLOSING)
		return c->up_over || c->inner_gone ? -EPIPE : 0;
	if (!c->down.data && !c->down_over) {
		if (!fill(&c->down))
			return -ENOMEM;
		ssize_t n = recv(c->inner.fd, c->down.data, BUFFER, 0);
		c->down.len = n > 0 ? (size_t)n : 0;
		drop_empty(&c->down);
		if (n < 0 && errno == EAGAIN) {
			*inner |= EPOLLIN;
			return 0;
		}
		if (n <= 0) {
			c->down_over = true;
			c->until_ms = now_ms() + LAST_MS;
		}
		return 1;
	}
	if (!c->down.data)
		return say_last(c, client);
	ssize_t n = tls_write(c->tls, c->down.data + c->down.at, c->down.len - c->down.at);
	if (n == TLS_WANT_WRITE || n == TLS_WANT_READ) {
		*client |= n == TLS_WANT_READ ? EPOLLIN : EPOLLOUT;
		return 0;
	}
	if (n < 0)
		return (int)n;
	c->down.at += (size_t)n;
	drop_empty(&c->down);
	return 1;
}

/* A source that nothing is asked of still tells of its end, again and again. */
static bool wait_for(struct relay *r, struct conn *c, uint32_t client, uint32_t inner)
{
	if (ask(r, &c->client, client) < 0)
		return false;
	return c->inner_gone || c->inner.fd < 0 || ask(r, &c->inner, inner) == 0;
}

static void go_on(struct relay *r, struct conn *c)
{
	uint32_t client = 0, inner = 0;
	int up = 1, down = 1;
	unsigned turns = 0;

	if (c->state == SHAKING && (!shake(r, c, &client) || !wait_for(r, c, client, 0))) {
		gone(r, c);
		return;
	}
	if (c->state == SHAKING)
		return;
	for (; turns < TURNS && (up > 0 || down > 0); turns++) {
		client = inner = 0;
		up = move_up(c, &client, &inner);
		down = up < 0 ? up : move_down(c, &client, &inner);
		if (up < 0 || down < 0) {
			gone(r, c);
			return;
		}
	}
	if (turns == TURNS) { /* what OpenSSL holds nobody tells us of: come back at once */
		client |= EPOLLOUT;
		inner |= EPOLLIN | EPOLLOUT;
	}
	if (!wait_for(r, c, client, inner))
		gone(r, c);
}

static void happened(struct relay *r, struct source *s, uint32_t events)
{
	struct conn *c = s->owner;

	if (s->fd < 0)
		return;
	if (s->what == WHAT_LISTENER) {
		incoming(r, s);
	} else if (s->what == WHAT_WATCH) {
		r->ready[s - r->watch](r, s->fd);
	} else if (s->what == WHAT_CLIENT && events & (EPOLLERR | EPOLLHUP)) {
		gone(r, c);
	} else {
		if (s->what == WHAT_INNER && events & EPOLLHUP && !c->inner_gone) {
			(void)epoll_ctl(r->epoll, EPOLL_CTL_DEL, s->fd, NULL);
			c->inner_gone = true;
		}
		go_on(r, c);
	}
}

static void end_late(struct relay *r)
{
	uint64_t now = now_ms();

	for (struct conn *c = r->first, *next; c; c = next) {
		next = c->next;
		if (c->until_ms && c->until_ms <= now)
			gone(r, c);
	}
	if (r->paused)
		pause_listeners(r, false);
}

int relay_new(int door, const int *listeners, unsigned n_listeners, struct relay **ret,
	      struct err *e)
{
	struct relay *r = calloc(1, sizeof(*r));
	struct rlimit files;

	assert(n_listeners <= TLS_LISTEN_MAX);
	if (!r)
		return err_sys(e, "relay");
	r->max = CONNS_MAX;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files); /* or it stays as it is */
		if (files.rlim_cur < 2 * CONNS_MAX + FDS_OWN)
			r->max = (unsigned)(files.rlim_cur - FDS_OWN) / 2;
	}
	r->door = door;
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (r->epoll < 0)
		return err_sys(e, "epoll");
	for (unsigned i = 0; i < n_listeners; i++)
		r->listener[i] = (struct source){.what = WHAT_LISTENER, .fd = listeners[i]};
	r->n_listener = n_listeners;
	*ret = r;
	return 0;
}

void relay_serve(struct relay *r, struct tls_server *s)
{
	tls_server_free(r->tls); /* connections that are there have it, too */
	r->tls = s;
	pause_listeners(r, false);
}

int relay_watch(struct relay *r, int fd, void (*ready)(struct relay *r, int fd), struct err *e)
{
	assert(r->n_watch < WATCHES);
	struct source *s = &r->watch[r->n_watch];

	*s = (struct source){.what = WHAT_WATCH, .fd = fd};
	r->ready[r->n_watch++] = ready;
	return ask(r, s, EPOLLIN) < 0 ? err_sys(e, "epoll") : 0;
}

void relay_drain(struct relay *r)
{
	for (unsigned i = 0; i < r->n_listener; i++)
		fd_close(&r->listener[i].fd);
	r->draining = true;
}

int relay_run(struct relay *r, struct err *e)
{
	struct epoll_event events[64];

	while (!r->draining || r->count > 0) {
		int n = epoll_wait(r->epoll, events, 64, r->count || r->paused ? 1000 : -1);

		if (n < 0 && errno != EINTR)
			return err_sys(e, "epoll");
		for (int i = 0; i < n; i++)
			happened(r, events[i].data.ptr, events[i].events);
		end_late(r);
		free_dead(r);
	}
	return 0;
}
