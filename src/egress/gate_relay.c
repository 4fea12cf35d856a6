/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes from one socket to the other without looking at them: splice, through pipes that a
 * connection holds only while bytes are in them. One that is idle costs no buffer.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "egress/gate_int.h"

/* A user may have 64 MiB in pipes, of all his gates together, so few are large. Where somebody else
 * needs the processor, who has more to give at a time waits less often. */
#define PIPE_BYTES (1 << 20)
#define PIPES_LARGE 8u
#define PIPE_BYTES_MORE (256 << 10)
#define PIPES_KEPT 32u
#define ROUNDS 8 /* in one turn, for one direction */

static struct {
	int ends[PIPES_KEPT][2];
	unsigned n;
} idle;
static unsigned n_pipes; /* that there are */

static int take_pipe(struct flow *f)
{
	if (idle.n > 0) {
		idle.n--;
		f->pipe[0] = idle.ends[idle.n][0];
		f->pipe[1] = idle.ends[idle.n][1];
		return 0;
	}
	if (pipe2(f->pipe, O_CLOEXEC | O_NONBLOCK) < 0) {
		f->pipe[0] = f->pipe[1] = FD_NONE;
		return -errno;
	}
	/* Where the user has too many pages in pipes already it stays small, and works. */
	(void)fcntl(f->pipe[1], F_SETPIPE_SZ, n_pipes < PIPES_LARGE ? PIPE_BYTES : PIPE_BYTES_MORE);
	n_pipes++;
	return 0;
}

/* One that still holds bytes is of no use to anybody else. */
static void give_pipe(struct flow *f)
{
	if (f->pipe[0] >= 0 && f->held == 0 && idle.n < PIPES_KEPT) {
		idle.ends[idle.n][0] = f->pipe[0];
		idle.ends[idle.n++][1] = f->pipe[1];
		f->pipe[0] = f->pipe[1] = FD_NONE;
	}
	n_pipes -= f->pipe[0] >= 0;
	fd_close(&f->pipe[0]);
	fd_close(&f->pipe[1]);
}

static bool would_block(ssize_t n)
{
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Of bytes that can be read: no more than were looked at. False: there is a placeholder among
 * them. */
static bool is_clean(struct conn *c, int from, size_t *most)
{
	static char seen[PIPE_BYTES];
	ssize_t n = recv(from, seen, *most ? *most : 1, MSG_PEEK | MSG_DONTWAIT);

	if (n <= 0)
		return true;
	if (*most)
		*most = (size_t)n;
	if (!secret_scan(&c->scan, seen, (size_t)n))
		return true;
	secrets_alarm(c, "stream");
	return false;
}

/* 0: nothing to read now, or nobody takes it now. 1: it could go on. -1: broken. */
static int move_once(struct conn *c, struct flow *f, int from, int to)
{
	bool up = f == &c->up;
	struct inlet *in = up ? &c->from_client : &c->from_server;

	if (f->held == 0) {
		if (!in->has_some && !in->has_end)
			return 0;
		uint64_t left = conn_left(c, up);
		size_t most = left < PIPE_BYTES ? (size_t)left : PIPE_BYTES;

		if (f->pipe[0] < 0 && take_pipe(f) < 0)
			return -1;
		if (up && c->protocol == EGRESS_TCP && c->box->secrets && !is_clean(c, from, &most))
			return -1;
		/* At the limit one more byte is looked for: without it there is nothing to
		 * refuse. */
		ssize_t n = splice(from, NULL, f->pipe[1], NULL, most ? most : 1,
				   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
		if (n < 0 && errno == EAGAIN)
			in->has_some = false;
		if (would_block(n))
			return 0;
		if (n < 0)
			return -1;
		if (n == 0) {
			f->ended = true;
			return 0;
		}
		f->held = (size_t)n;
		if (!conn_spend(c, up ? (uint64_t)n : 0, up ? 0 : (uint64_t)n))
			return -1;
	}
	ssize_t n = splice(f->pipe[0], NULL, to, NULL, f->held, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (would_block(n))
		return 0;
	if (n <= 0)
		return -1;
	f->held -= (size_t)n;
	return 1;
}

static int move(struct conn *c, struct flow *f, int from, int to)
{
	int r = 1;

	for (int i = 0; i < ROUNDS && r > 0 && !f->ended; i++)
		r = move_once(c, f, from, to);
	if (r < 0)
		return -1;
	if (r > 0 && !f->ended)
		conn_busy(c);
	if (f->held == 0)
		give_pipe(f);
	if (f->ended && f->held == 0 && !f->told) {
		f->told = true;
		(void)shutdown(to, SHUT_WR); /* it may be gone already */
	}
	return r;
}

/* What the client said before it had a server. False: not all of it is gone yet. */
static bool send_hello(struct conn *c)
{
	size_t may = c->second ? c->hello_may : c->hello_len;

	if (!c->hello_sent && c->protocol == EGRESS_TCP && c->box->secrets &&
	    secret_scan(&c->scan, (const char *)c->hello, c->hello_len)) {
		secrets_alarm(c, "stream");
		conn_abort(c);
		return false;
	}
	while (c->hello_sent < may) {
		ssize_t n = send(c->server.fd, c->hello + c->hello_sent, may - c->hello_sent,
				 MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN)
			return false;
		if (n <= 0) {
			conn_abort(c);
			return false;
		}
		if (!conn_spend(c, (uint64_t)n, 0)) {
			conn_abort(c);
			return false;
		}
		c->hello_sent += (size_t)n;
	}
	if (c->second) {
		c->hello_len -= may;
		memmove(c->hello, c->hello + may, c->hello_len);
		c->hello_sent = c->hello_may = 0;
		return true;
	}
	free(c->hello);
	c->hello = NULL;
	c->hello_len = c->hello_sent = c->hello_cap = 0;
	return true;
}

void relay_run(struct conn *c)
{
	if (c->hello && !send_hello(c))
		return;
	if (c->second && (!conn_second_run(c) || (!c->second && !send_hello(c))))
		return;
	int up = c->second ? 0 : move(c, &c->up, c->client.fd, c->server.fd);
	int down = up < 0 ? -1 : move(c, &c->down, c->server.fd, c->client.fd);

	if (up < 0 || down < 0) {
		conn_abort(c);
		return;
	}
	if (c->up.told && c->down.told)
		conn_close(c);
	else
		conn_deadline(c, c->up.told || c->down.told ? HALF_MS : IDLE_MS);
}

void relay_done(struct conn *c)
{
	give_pipe(&c->up);
	give_pipe(&c->down);
}
