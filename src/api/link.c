/* SPDX-License-Identifier: Apache-2.0 */
#include "api/link.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/passfd.h"

/* A message that waits, with descriptors of its own. */
struct link_wait {
	struct link_wait *next;
	int fds[LINK_FDS_MAX];
	size_t len;
	char bytes[];
};

static void drop_first(struct link *l)
{
	struct link_wait *w = l->out;

	l->out = w->next;
	if (!l->out)
		l->out_end = &l->out;
	for (unsigned i = 0; i < LINK_FDS_MAX; i++)
		fd_close(&w->fds[i]);
	free(w);
}

static void flush(struct link *l)
{
	while (l->out) {
		struct link_wait *w = l->out;

		if (passfd_send(l->watch.fd, w->bytes, w->len, w->fds, LINK_FDS_MAX) == -EAGAIN)
			break;
		drop_first(l); /* also when nobody is there any more: that is told by a read */
	}
	(void)watch_set(&l->watch, EPOLLIN | (l->out ? EPOLLOUT : 0u));
}

static void ready(struct watch *w, uint32_t events)
{
	struct link *l = (struct link *)w;

	if (events & EPOLLOUT)
		flush(l);
	if (events & ~(uint32_t)EPOLLOUT)
		link_take(l);
}

struct link *link_new(struct loop *loop, int fd, const struct link_calls *calls, void *arg)
{
	struct link *l = calloc(1, sizeof(*l));
	int room = 1 << 20;

	if (!l) {
		(void)close(fd);
		return NULL;
	}
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)); /* or it is smaller */
	l->calls = calls;
	l->arg = arg;
	l->out_end = &l->out;
	watch_init(&l->watch, loop, fd, ready);
	(void)watch_set(&l->watch, EPOLLIN); /* cannot fail but for memory: then it is silent */
	return l;
}

void link_free(struct link *l)
{
	if (!l)
		return;
	while (l->out)
		drop_first(l);
	watch_done(&l->watch);
	fd_close(&l->watch.fd);
	l->dead = true;
	if (!l->taking)
		free(l);
}

static void wait_in_line(struct link *l, const void *message, size_t len, const int *fds)
{
	struct link_wait *w = malloc(sizeof(*w) + len);
	bool more = true;

	if (!w)
		return; /* as if the other end had died just before */
	*w = (struct link_wait){.len = len};
	memcpy(w->bytes, message, len);
	for (unsigned i = 0; i < LINK_FDS_MAX; i++) {
		more = more && fds && fds[i] >= 0;
		w->fds[i] = more ? fcntl(fds[i], F_DUPFD_CLOEXEC, 0) : FD_NONE;
	}
	*l->out_end = w;
	l->out_end = &w->next;
	(void)watch_set(&l->watch, EPOLLIN | EPOLLOUT);
}

void link_send(struct link *l, const void *message, size_t len, const int *fds)
{
	static const int none[LINK_FDS_MAX] = {FD_NONE, FD_NONE};

	if (l->out ||
	    passfd_send(l->watch.fd, message, len, fds ? fds : none, LINK_FDS_MAX) == -EAGAIN)
		wait_in_line(l, message, len, fds);
}

void link_send_conn(struct link *l, int fd, const struct link_conn *m)
{
	int fds[LINK_FDS_MAX] = {fd, FD_NONE};

	link_send(l, m, offsetof(struct link_conn, bytes) + m->len, fds);
}

/* Of a size and with the descriptors that its kind has? */
static bool is_whole(const union link_message *m, size_t len, unsigned n_fds)
{
	switch ((enum link_kind)m->kind) {
	case LINK_RUN: return len == sizeof(m->run) && n_fds == 0;
	case LINK_KEY: return len == sizeof(m->key) && n_fds == 0;
	case LINK_SYNCED:
	case LINK_BYE: return len == sizeof(m->kind) && n_fds == 0;
	case LINK_CONN:
		return n_fds == 1 && len >= offsetof(struct link_conn, bytes) &&
		       len == offsetof(struct link_conn, bytes) + m->conn.len &&
		       memchr(m->conn.from, '\0', sizeof(m->conn.from));
	case LINK_START: return len == sizeof(m->start) && n_fds == 2;
	}
	return false;
}

/* Texts have an end, whoever wrote them. */
static void terminate(union link_message *m)
{
	struct link_run *r = &m->run;

	if (m->kind == LINK_RUN)
		r->id[sizeof(r->id) - 1] = r->sandbox[sizeof(r->sandbox) - 1] =
			r->status[sizeof(r->status) - 1] = r->tenant[sizeof(r->tenant) - 1] =
				r->workspace[sizeof(r->workspace) - 1] =
					r->command[sizeof(r->command) - 1] = '\0';
	if (m->kind == LINK_KEY)
		m->key.tenant[sizeof(m->key.tenant) - 1] = m->key.key[LINK_KEY_SIZE - 1] = '\0';
}

void link_take(struct link *l)
{
	static union link_message m; /* the loop's thread */
	int fds[LINK_FDS_MAX];
	size_t len = 0;

	l->taking = true;
	while (!l->dead) {
		m.kind = 0;
		int n = passfd_receive_max(l->watch.fd, &m, sizeof(m), &len, fds, LINK_FDS_MAX,
					   MSG_DONTWAIT);

		if (n == -EAGAIN)
			break;
		terminate(&m);
		if (n >= 0 && len >= sizeof(m.kind) && is_whole(&m, len, (unsigned)n))
			l->calls->take(l, &m, fds);
		else
			l->calls->gone(l);
		for (int i = 0; i < n; i++)
			fd_close(&fds[i]);
	}
	l->taking = false;
	if (l->dead)
		free(l);
}
