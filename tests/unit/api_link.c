/* SPDX-License-Identifier: Apache-2.0 */
/* Links between processes that serve: whole messages arrive with their descriptors, others end
 * it. */
#include "api/link.h"

#include <fcntl.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "tap.h"

struct seen {
	unsigned runs, conns, synced, gone;
	uint32_t len;
	char first, last;
	bool has_fd, drop;
};

static void take(struct link *l, const union link_message *m, int fds[LINK_FDS_MAX])
{
	struct seen *s = l->arg;

	s->runs += m->kind == LINK_RUN;
	s->synced += m->kind == LINK_SYNCED;
	if (m->kind == LINK_CONN) {
		s->conns++;
		s->len = m->conn.len;
		s->first = m->conn.bytes[0];
		s->last = m->conn.bytes[m->conn.len - 1];
		s->has_fd = fds[0] >= 0;
	}
	if (s->drop)
		link_free(l);
}

static void gone(struct link *l)
{
	((struct seen *)l->arg)->gone++;
	link_free(l);
}

static const struct link_calls calls = {take, gone};

struct both {
	struct loop *loop;
	struct link *link;
	int other;
	struct seen seen;
};

static void begin(struct both *b)
{
	struct err e = ERR_INIT;
	int pair[2];

	*b = (struct both){0};
	(void)loop_new(&b->loop, &e);
	(void)socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
	b->link = link_new(b->loop, pair[0], &calls, &b->seen);
	b->other = pair[1];
}

static void finish(struct both *b)
{
	if (!b->seen.gone && !b->seen.drop)
		link_free(b->link);
	fd_close(&b->other);
	loop_free(b->loop);
}

static void send_raw(struct both *b, const void *data, size_t len, int fd)
{
	(void)passfd_send(b->other, data, len, &fd, fd >= 0);
	link_take(b->link);
}

static void whole(void)
{
	static struct link_conn conn = {.kind = LINK_CONN, .len = LINK_BYTES_MAX};
	struct link_run run = {.kind = LINK_RUN};
	uint32_t synced = LINK_SYNCED;
	auto_close int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct both b;

	begin(&b);
	conn.bytes[0] = 'a';
	conn.bytes[LINK_BYTES_MAX - 1] = 'z';
	send_raw(&b, &run, sizeof(run), FD_NONE);
	send_raw(&b, &conn, sizeof(conn.bytes) + offsetof(struct link_conn, bytes), fd);
	send_raw(&b, &synced, sizeof(synced), FD_NONE);
	is_int(b.seen.runs, 1, "a run");
	is_int(b.seen.conns, 1, "a connection");
	is_int(b.seen.len, LINK_BYTES_MAX, "with as much as a head can have");
	ok(b.seen.first == 'a' && b.seen.last == 'z' && b.seen.has_fd, "all of it, and its socket");
	is_int(b.seen.synced, 1, "the end of what there is");
	is_int(b.seen.gone, 0, "the link stays");
	finish(&b);
}

/* Each ends the link, and nothing of it is taken. */
static void broken(void)
{
	static union link_message m;
	static const struct {
		const char *name;
		uint32_t kind;
		size_t len;
		bool fd;
	} bad[] = {
		{"a run that is too short", LINK_RUN, sizeof(m.run) - 1, false},
		{"a run that is too long", LINK_RUN, sizeof(m.run) + 1, false},
		{"a run with a descriptor", LINK_RUN, sizeof(m.run), true},
		{"a connection without one", LINK_CONN, offsetof(struct link_conn, bytes), false},
		{"a connection without a length", LINK_CONN, 8, true},
		{"a start without descriptors", LINK_START, sizeof(m.start), false},
		{"a kind that there is not", 99, 4, false},
		{"two bytes", LINK_SYNCED, 2, false},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		auto_close int fd = bad[i].fd ? open("/dev/null", O_RDONLY | O_CLOEXEC) : FD_NONE;
		struct both b;

		begin(&b);
		m.kind = bad[i].kind;
		send_raw(&b, &m, bad[i].len, fd);
		ok(b.seen.gone == 1 && !b.seen.runs && !b.seen.conns, bad[i].name);
		finish(&b);
	}
}

static void lies(void)
{
	static struct link_conn conn = {.kind = LINK_CONN, .len = 10};
	auto_close int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct both b;

	begin(&b);
	send_raw(&b, &conn, offsetof(struct link_conn, bytes) + 9, fd);
	is_int(b.seen.gone, 1, "fewer bytes than it says");
	finish(&b);
	begin(&b);
	conn.len = 0;
	memset(conn.from, 'x', sizeof(conn.from));
	send_raw(&b, &conn, offsetof(struct link_conn, bytes), fd);
	is_int(b.seen.gone, 1, "an address without an end");
	finish(&b);
}

/* The other end does not read: what is sent waits, in its order, with its descriptors. */
static void full(void)
{
	static struct link_conn conn = {.kind = LINK_CONN, .len = LINK_BYTES_MAX}, got;
	struct both b;
	unsigned n = 0;

	begin(&b);
	for (unsigned i = 0; i < 100; i++) {
		auto_close int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		conn.way = i;
		link_send_conn(b.link, fd, &conn);
	}
	for (int r = 0; r >= 0;) {
		int fd = FD_NONE;
		size_t len = 0;

		r = passfd_receive_max(b.other, &got, sizeof(got), &len, &fd, 1, MSG_DONTWAIT);
		if (r < 0 && b.link->out) {
			b.link->watch.ready(&b.link->watch, 4 /* EPOLLOUT */);
			r = 0;
			continue;
		}
		n += r == 1 && got.way == n && fd >= 0;
		fd_close(&fd);
	}
	is_int(n, 100, "a hundred, in their order");
	finish(&b);
}

static void freed_meanwhile(void)
{
	uint32_t synced = LINK_SYNCED;
	struct both b;

	begin(&b);
	b.seen.drop = true;
	(void)passfd_send(b.other, &synced, sizeof(synced), NULL, 0);
	send_raw(&b, &synced, sizeof(synced), FD_NONE);
	is_int(b.seen.synced, 1, "who frees it hears no more");
	finish(&b);
}

int main(void)
{
	TAP_RUN(whole);
	TAP_RUN(broken);
	TAP_RUN(lies);
	TAP_RUN(full);
	TAP_RUN(freed_meanwhile);
	return tap_done();
}
