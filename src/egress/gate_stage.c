/* SPDX-License-Identifier: Apache-2.0 */
/* The sockets of a stage: bytes in, bytes out, until nothing moves. */
#include <sys/socket.h>

#include "base/fd.h"
#include "egress/gate_int.h"

#define ROUNDS 16

int stage_begin(struct conn *c, struct stage *taken)
{
	if (!taken)
		return -ENOMEM;
	c->stage = taken;
	c->state = CONN_STAGE;
	conn_deadline(c, HELLO_MS);
	int r = c->hello_len ? stage_put(&c->io.from_client, c->hello, c->hello_len) : 0;
	free(c->hello);
	c->hello = NULL;
	c->hello_len = c->hello_cap = 0;
	conn_busy(c);
	return r;
}

/* > 0: bytes moved. 0: nothing now. < 0: broken. */
static int fill(struct conn *c, int fd, struct inlet *in, struct stage_buf *b, bool *ended)
{
	char *at;
	size_t room = *ended || !(in->has_some || in->has_end) ? 0 : stage_room(b, &at);

	if (room == 0)
		return 0;
	ssize_t n = recv(fd, at, room, 0);
	if (n < 0 && errno == EAGAIN)
		in->has_some = false;
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		if (b->len == 0)
			stage_buf_done(b);
		return 0;
	}
	if (n > 0 && (size_t)n < room)
		in->has_some = false; /* that was all; of what comes next we are told */
	if (n < 0)
		return -1;
	if (n == 0) {
		*ended = true;
		return 1;
	}
	stage_added(b, (size_t)n);
	if (b == &c->io.from_server && !conn_spend(c, 0, (uint64_t)n))
		return -EDQUOT;
	return 1;
}

/* The same; -EDQUOT: no more bytes may go to the server, which was told. */
static int drain(struct conn *c, int fd, struct stage_buf *b)
{
	uint64_t left = b == &c->io.to_server ? conn_left(c, true) : UINT64_MAX;
	size_t most = b->len < left ? b->len : (size_t)left;

	if (b->len == 0)
		return 0;
	if (most == 0) {
		(void)conn_spend(c, b->len, 0); /* that it is refused is known */
		return -EDQUOT;
	}
	ssize_t n = send(fd, b->data + b->start, most, MSG_NOSIGNAL);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -1;
	stage_took(b, (size_t)n);
	if (b == &c->io.to_server)
		(void)conn_spend(c, (uint64_t)n, 0); /* there is room for that many */
	return 1;
}

/* All sent: the client takes it and closes, or is out of time. */
static void finish(struct conn *c)
{
	if (c->io.to_client.len || (c->server_open && c->io.to_server.len))
		return;
	spare_part(c);
	gate_forget(&c->server);
	if (c->is_lane)
		conn_close(c);
	else
		conn_last(c, NULL, 0);
}

/* The client's side of a lane is its stream's (gate_h2.c). */
static int io(struct conn *c)
{
	int moved = 0, r = 0;

	if (!c->is_ending && !c->is_lane)
		r = fill(c, c->client.fd, &c->from_client, &c->io.from_client, &c->io.client_ended);
	moved |= r > 0;
	if (r >= 0 && c->server_open && !c->is_ending) {
		r = fill(c, c->server.fd, &c->from_server, &c->io.from_server, &c->io.server_ended);
		/* It may have ended while it waited; who asked can be told by another. */
		if (r == -1 && c->is_shared)
			r = c->io.server_ended = true;
		moved |= r > 0;
	}
	if (r >= 0 && !c->is_lane) {
		r = drain(c, c->client.fd, &c->io.to_client);
		moved |= r > 0;
	}
	if (r >= 0 && c->server_open) {
		r = drain(c, c->server.fd, &c->io.to_server);
		if (r == -EDQUOT)
			return -1;
		/* A server that takes no more may still have answered why. */
		if (r < 0)
			stage_buf_done(&c->io.to_server);
		moved |= r > 0;
		r = 0;
	}
	return r < 0 ? -1 : moved;
}

/* False: it is somebody else's turn. */
static bool step(struct conn *c)
{
	switch (c->is_ending ? STAGE_END : c->stage->ops->run(c->stage, &c->io)) {
	case STAGE_ON: return true;
	case STAGE_SERVER:
		if (c->server_open)
			return true;
		c->then = CONN_STAGE;
		conn_resolve(c);
		return false;
	case STAGE_OTHER:
		/* One that had ended when we came was paid for. */
		if (c->is_shared && c->box->spent.connections)
			c->box->spent.connections--;
		spare_part(c);
		gate_forget(&c->server);
		c->server_open = c->io.server_open = false;
		errand_begin(c, true);
		c->then = CONN_STAGE;
		conn_resolve(c);
		return false;
	case STAGE_END: c->is_ending = true; return true;
	case STAGE_ABORT:
		if (!c->is_lane)
			break;
		/* Of what was said so far its stream has the rest; that it is not whole will
		 * show. */
		conn_cut(c);
		c->is_ending = true;
		return true;
	case STAGE_WAIT: break;
	}
	conn_abort(c);
	return false;
}

void stage_run(struct conn *c)
{
	int moved = 1;

	for (int i = 0; i < ROUNDS && moved > 0; i++) {
		moved = io(c);
		if (moved < 0) {
			conn_abort(c);
			return;
		}
		if (moved && c->server_open)
			conn_deadline(c, IDLE_MS);
		if (!step(c))
			return;
	}
	if (moved > 0)
		conn_busy(c);
	else if (io(c) > 0) /* what the last step put out */
		conn_busy(c);
	if (c->is_ending)
		finish(c);
	if (c->lane_of)
		mux_wake(c->lane_of);
}

void stage_done(struct conn *c)
{
	if (c->stage)
		c->stage->ops->free(c->stage);
	c->stage = NULL;
	stage_buf_done(&c->io.from_client);
	stage_buf_done(&c->io.to_client);
	stage_buf_done(&c->io.from_server);
	stage_buf_done(&c->io.to_server);
}
