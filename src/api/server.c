/* SPDX-License-Identifier: Apache-2.0 */
#include "api/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "api/api.h"
#include "api/conn_int.h"
#include "api/heirs.h"
#include "base/fd.h"
#include "base/passfd.h"

#define CONNECTIONS_MAX 4096u
#define AGAIN_MS 100u

int server_new(struct api *api, const struct server_config *config, struct server **ret,
	       struct err *e)
{
	struct server *s = calloc(1, sizeof(*s));

	if (!s)
		return err_sys(e, "server");
	s->api = api;
	s->loop = api->loop;
	s->config = *config;
	if (!s->config.connections_max)
		s->config.connections_max = CONNECTIONS_MAX;
	*ret = s;
	return 0;
}

/* When all places are taken, whoever has waited longest without asking for anything goes. */
static bool drop_idle(struct server *s)
{
	for (struct conn *c = s->first; c; c = c->next)
		if (c->state == CONN_HEAD || c->state == CONN_CLOSING) {
			s->counts.dropped++;
			conn_close(c);
			return true;
		}
	return false;
}

static bool make_room(struct server *s)
{
	return s->counts.connections < s->config.connections_max || drop_idle(s);
}

static struct conn *take_connection(struct listener *l, int fd, const char *from)
{
	struct ucred peer = {.uid = UINT32_MAX};
	socklen_t len = sizeof(peer);

	if (!make_room(l->server)) {
		l->server->counts.refused++;
		(void)close(fd);
		return NULL;
	}
	if (l->way == API_UNIX && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0) {
		(void)close(fd);
		return NULL;
	}
	return conn_new(l, fd, peer.uid, from);
}

static void write_from(const struct sockaddr_storage *at, char ret[FROM_SIZE])
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)at;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)at;
	char text[INET6_ADDRSTRLEN] = "";

	*ret = '\0';
	if (at->ss_family == AF_INET && inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text)))
		(void)snprintf(ret, FROM_SIZE, "%s:%u", text, ntohs(in->sin_port));
	if (at->ss_family == AF_INET6 && inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text)))
		(void)snprintf(ret, FROM_SIZE, "[%s]:%u", text, ntohs(in6->sin6_port));
}

static void listen_again(struct timer *t)
{
	struct listener *l = (struct listener *)((char *)t - offsetof(struct listener, again));

	(void)watch_set(&l->watch, EPOLLIN); /* or nobody comes in, as before */
}

static void incoming(struct watch *w, uint32_t events)
{
	struct listener *l = (struct listener *)w;

	(void)events;
	for (unsigned i = 0; i < 32; i++) {
		struct sockaddr_storage at = {0};
		socklen_t len = sizeof(at);
		char from[FROM_SIZE];
		int fd = accept4(w->fd, (struct sockaddr *)&at, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);

		write_from(&at, from);
		if (fd >= 0)
			(void)take_connection(l, fd, from); /* or there is no room */
		else if (errno == EAGAIN || errno == EINTR)
			return;
		else if (!drop_idle(l->server)) {
			/* No descriptor is left: who waits in the queue must not keep us busy. */
			(void)watch_set(w, 0);
			timer_set(l->server->loop, &l->again, loop_now_ms() + AGAIN_MS);
			return;
		}
	}
}

/* Who ends TLS reads what strangers send, too: he is believed nothing but an address. */
static bool is_stream(int fd)
{
	int type = 0;
	socklen_t len = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM &&
	       fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
}

static void handed(struct watch *w, uint32_t events)
{
	struct listener *l = (struct listener *)w;

	(void)events;
	for (unsigned i = 0; i < 32; i++) {
		struct door_message m;
		int fd = FD_NONE;
		int n = passfd_receive(w->fd, &m, sizeof(m), &fd, 1, MSG_DONTWAIT);

		if (n == -EAGAIN || n == -EINTR)
			return;
		if (n < 0 && n != -EPROTO) { /* the watcher has the other end: it is ending, too */
			(void)watch_set(w, 0);
			return;
		}
		if (n == 1 && is_stream(fd) && memchr(m.from, '\0', sizeof(m.from)))
			(void)take_connection(l, fd, m.from); /* the same */
		else
			fd_close(&fd);
	}
}

int server_listen(struct server *s, int fd, enum api_way way, struct err *e)
{
	struct listener *l = calloc(1, sizeof(*l));

	if (!l)
		return err_sys(e, "listener");
	watch_init(&l->watch, s->loop, fd, way == API_DOOR ? handed : incoming);
	l->again.fire = listen_again;
	l->server = s;
	l->way = way;
	l->next = s->listeners;
	s->listeners = l;
	return watch_set(&l->watch, EPOLLIN) < 0 ? err_sys(e, "listen") : 0;
}

void server_mount(struct server *s, const char *path, unsigned scope,
		  void (*begin)(struct exchange *x, void *arg), void *arg)
{
	struct mount *m = calloc(1, sizeof(*m));

	if (!m)
		return;
	*m = (struct mount){path, scope, begin, arg, s->mounts};
	s->mounts = m;
}

static void stop_listening(struct server *s)
{
	for (struct listener *l = s->listeners; l; l = l->next) {
		timer_set(s->loop, &l->again, 0);
		watch_done(&l->watch);
		fd_close(&l->watch.fd);
	}
}

/* One that does not listen, for connections that others took in. */
static struct listener *listener_of(struct server *s, enum api_way way)
{
	struct listener *l = s->listeners;

	while (l && l->way != way)
		l = l->next;
	if (l || way > API_DOOR || !(l = calloc(1, sizeof(*l))))
		return l;
	l->watch.fd = FD_NONE;
	l->server = s;
	l->way = way;
	l->next = s->listeners;
	s->listeners = l;
	return l;
}

void server_adopt(struct server *s, const struct link_conn *m, int fd)
{
	struct listener *l = is_stream(fd) ? listener_of(s, m->way) : NULL;

	if (!l) {
		(void)close(fd);
		return;
	}
	struct conn *c = take_connection(l, fd, m->from);
	if (c && (m->len || !heirs_pass_on(s->api->heirs, c)))
		conn_resume(c, m->bytes, m->len);
}

void server_yield(struct server *s)
{
	stop_listening(s);
	for (struct conn *c = s->first, *next; c; c = next) {
		next = c->next;
		if (c->state == CONN_HEAD)
			(void)heirs_pass_on(s->api->heirs, c); /* or it stays with us */
	}
}

void server_drain(struct server *s)
{
	s->draining = true;
	stop_listening(s);
	for (struct conn *c = s->first, *next; c; c = next) {
		next = c->next;
		if (c->state == CONN_HEAD || c->state == CONN_CLOSING)
			conn_close(c);
	}
}

void server_free(struct server *s)
{
	if (!s)
		return;
	while (s->first)
		conn_close(s->first);
	while (s->listeners) {
		struct listener *l = s->listeners;

		s->listeners = l->next;
		watch_done(&l->watch);
		fd_close(&l->watch.fd);
		free(l);
	}
	while (s->mounts) {
		struct mount *m = s->mounts;

		s->mounts = m->next;
		free(m);
	}
	free(s);
}

void server_count(const struct server *s, struct server_counts *ret)
{
	*ret = s->counts;
}
