/* SPDX-License-Identifier: Apache-2.0 */
#include "api/conn_int.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include "api/api.h"
#include "api/coding.h"
#include "api/elders.h"
#include "api/heirs.h"
#include "api/taken.h"
#include "base/fd.h"
#include "http/target.h"

#define FILE_CHUNK (1u << 20)
#define PIECES_AT_ONCE 8

static void go_on(struct conn *c);
static void linger(struct conn *c);

static void arm(struct conn *c, uint64_t ms)
{
	timer_set(c->server->loop, &c->timer, loop_now_ms() + ms);
}

static void unlink_conn(struct conn *c)
{
	struct server *s = c->server;

	*(c->prev ? &c->prev->next : &s->first) = c->next;
	*(c->next ? &c->next->prev : &s->last) = c->prev;
	c->prev = c->next = NULL;
}

static void link_last(struct conn *c)
{
	struct server *s = c->server;

	c->prev = s->last;
	*(s->last ? &s->last->next : &s->first) = c;
	s->last = c;
}

static void drop_piece(struct conn *c)
{
	struct piece *p = c->out;

	c->out = p->next;
	if (!c->out)
		c->out_end = &c->out;
	c->out_bytes -= p->data ? p->len : 0;
	fd_close(&p->fd);
	free(p->data);
	free(p);
}

static void free_conn(struct conn *c)
{
	while (c->out)
		drop_piece(c);
	free(c->in);
	free(c);
}

void conn_close(struct conn *c)
{
	if (c->dead)
		return;
	c->dead = true;
	c->state = CONN_CLOSING;
	timer_set(c->server->loop, &c->timer, 0);
	watch_done(&c->watch);
	exchange_done(&c->x);
	(void)close(c->watch.fd);
	unlink_conn(c);
	c->server->counts.connections--;
	if (!c->in_callback)
		free_conn(c);
}

void conn_take(struct conn *c, struct taken *ret)
{
	*ret = (struct taken){.fd = c->watch.fd,
			      .head = c->x.head,
			      .head_bytes = take_ptr(&c->x.head_bytes),
			      .in = take_ptr(&c->in),
			      .in_len = c->in_len,
			      .body = c->decoder};
	c->dead = true;
	timer_set(c->server->loop, &c->timer, 0);
	watch_done(&c->watch);
	exchange_done(&c->x);
	unlink_conn(c);
	c->server->counts.connections--;
	if (!c->in_callback)
		free_conn(c);
}

void conn_hand(struct conn *c, struct link *to)
{
	static struct link_conn m; /* the loop's thread */
	size_t head = c->x.head_bytes ? c->x.head_len : 0;

	assert(!c->out && head + c->in_len <= sizeof(m.bytes));
	m.kind = LINK_CONN;
	m.way = c->listener->way;
	memcpy(m.from, c->from, sizeof(m.from));
	m.len = (uint32_t)(head + c->in_len);
	if (head)
		memcpy(m.bytes, c->x.head_bytes, head);
	if (c->in_len)
		memcpy(m.bytes + head, c->in, c->in_len);
	link_send_conn(to, c->watch.fd, &m);
	conn_close(c);
}

static void want(struct conn *c)
{
	uint32_t events = c->half ? EPOLLHUP : EPOLLRDHUP;

	if (c->state == CONN_HEAD || c->state == CONN_CLOSING ||
	    (c->state == CONN_BODY && !c->x.pipe_wanted))
		events |= EPOLLIN;
	if (c->out)
		events |= EPOLLOUT;
	if (watch_set(&c->watch, events) < 0)
		conn_close(c);
}

static struct piece *add_piece(struct conn *c)
{
	struct piece *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->fd = FD_NONE;
	*c->out_end = p;
	c->out_end = &p->next;
	return p;
}

/* Without memory the answer cannot be whole, and the client must not believe that it is. */
void conn_add_taken(struct conn *c, char *data, size_t len)
{
	struct piece *p = data && !c->dead ? add_piece(c) : NULL;

	if (!p) {
		free(data);
		c->keep = false;
		c->got_eof = true;
		return;
	}
	p->data = data;
	p->len = len;
	c->out_bytes += len;
}

void conn_add(struct conn *c, const void *data, size_t len)
{
	char *copy = malloc(len + 1);

	if (copy)
		memcpy(copy, data, len);
	conn_add_taken(c, copy, len);
}

void conn_add_file(struct conn *c, int fd, uint64_t offset, uint64_t len)
{
	struct piece *p = add_piece(c);

	if (!p) {
		(void)close(fd);
		c->keep = false;
		return;
	}
	p->fd = fd;
	p->offset = offset;
	p->left = len;
}

/* A head and its body go together: a client that is woken for the first alone has to wait again. */
static ssize_t send_data(struct conn *c)
{
	struct iovec parts[PIECES_AT_ONCE];
	struct msghdr msg = {.msg_iov = parts};

	for (struct piece *p = c->out; p && p->data && msg.msg_iovlen < PIECES_AT_ONCE; p = p->next)
		parts[msg.msg_iovlen++] = (struct iovec){p->data + p->done, p->len - p->done};
	ssize_t n = sendmsg(c->watch.fd, &msg, MSG_NOSIGNAL);
	size_t left = n > 0 ? (size_t)n : 0;
	for (struct piece *p = c->out; left; p = p->next) {
		size_t part = p->len - p->done < left ? p->len - p->done : left;

		p->done += part;
		left -= part;
	}
	return n;
}

/* > 0: went out; 0: the client does not take more now; < 0: he is gone, or the file is shorter. */
static ssize_t send_piece(struct conn *c, struct piece *p)
{
	ssize_t n;

	if (p->data) {
		n = send_data(c);
	} else {
		off_t at = (off_t)p->offset;

		n = sendfile(c->watch.fd, p->fd, &at, p->left < FILE_CHUNK ? p->left : FILE_CHUNK);
		if (n == 0)
			return -EIO; /* it shrank: what was promised cannot be sent */
		if (n > 0) {
			p->offset += (uint64_t)n;
			p->left -= (uint64_t)n;
		}
	}
	return n < 0 && errno == EAGAIN ? 0 : n < 0 ? -errno : n;
}

/* false: the connection is no more. */
static bool flush(struct conn *c)
{
	bool sent = false;

	for (unsigned turns = 0; c->out && turns < 32; turns++) {
		struct piece *p = c->out;
		ssize_t n = p->data && p->done == p->len ? 1 : send_piece(c, p);

		if (n < 0) {
			conn_close(c);
			return false;
		}
		if (n == 0)
			break;
		sent = true;
		if (p->data ? p->done == p->len : p->left == 0)
			drop_piece(c);
	}
	if (sent && c->out)
		arm(c, WRITE_IDLE_MS);
	if (sent && c->x.room)
		c->x.room(&c->x, c->x.room_arg);
	return !c->dead;
}

static void next_request(struct conn *c)
{
	exchange_done(&c->x);
	exchange_init(&c->x, c);
	c->state = CONN_HEAD;
	c->served = true;
	unlink_conn(c);
	link_last(c);
	arm(c, c->in_len ? HEAD_MS : IDLE_MS);
}

/* The answer went out whole. */
static void answered(struct conn *c)
{
	if (c->got_eof || c->server->draining) {
		conn_close(c);
	} else if (!c->keep) {
		linger(c);
	} else {
		next_request(c);
		if (!heirs_pass_on(c->server->api->heirs, c))
			go_on(c);
	}
}

static void linger(struct conn *c)
{
	c->state = CONN_CLOSING;
	watch_done(&c->x.pipe_watch);
	fd_close(&c->x.pipe);
	free(c->in);
	c->in = NULL;
	c->in_len = 0;
	arm(c, LINGER_MS);
	(void)shutdown(c->watch.fd, SHUT_WR); /* or he is gone, which we will hear */
}

/* false: he has closed, too. */
static bool drop_more(struct conn *c)
{
	static char sink[64u << 10]; /* the loop's thread */
	ssize_t n = recv(c->watch.fd, sink, sizeof(sink), 0);

	return n > 0 || (n < 0 && errno == EAGAIN);
}

void conn_push(struct conn *c)
{
	if (c->dead || c->in_callback)
		return;
	c->in_callback = true;
	if (flush(c)) {
		if (c->state == CONN_ANSWER && c->x.over && !c->out)
			answered(c);
		else if (c->state == CONN_BODY && c->x.over && !c->out)
			linger(c); /* answered before the body was whole */
		else if (!c->out && c->state == CONN_ANSWER)
			timer_set(c->server->loop, &c->timer, 0);
		else if (c->out && !c->timer.at_ms)
			arm(c, WRITE_IDLE_MS); /* from then on only what is taken gives time */
	}
	c->in_callback = false;
	if (c->dead)
		free_conn(c);
	else
		want(c);
}

static enum err_kind kind_of_status(int status)
{
	switch (status) {
	case 408: return ERR_TIMEOUT;
	case 413:
	case 414:
	case 431: return ERR_LIMIT;
	case 501:
	case 505: return ERR_UNSUPPORTED;
	case 503: return ERR_BUSY;
	default: return ERR_INVALID;
	}
}

void conn_refuse(struct conn *c, int status, const char *why)
{
	struct err e = ERR_INIT;

	c->keep = false;
	c->state = CONN_ANSWER;
	c->server->counts.refused++;
	(void)err_set(&e, kind_of_status(status), "%s", why);
	if (status == 415)
		(void)err_detail(&e, "media_type");
	if (status == 503)
		exchange_header(&c->x, "Retry-After", "1");
	auto_value *v = error_value(&e);
	size_t len = 0;
	char *text = value_text(v, &len);
	exchange_reply(&c->x, status, NULL, text, text ? len : 0);
}

/* A whole body, or the head of one that goes into a pipe. */
static void begin_exchange(struct conn *c)
{
	struct server *s = c->server;
	struct http_target t;

	timer_set(s->loop, &c->timer, 0);
	s->counts.requests++;
	if (c->x.pipe < 0)
		c->state = CONN_ANSWER;
	else
		arm(c, BODY_IDLE_MS);
	http_target_split(&c->x.head, &t);
	for (struct mount *m = s->mounts; m; m = m->next) {
		if (strlen(m->path) != t.path_len || memcmp(m->path, t.path, t.path_len) != 0)
			continue;
		m->begin(&c->x, m->arg);
		return;
	}
	rest_begin(&c->x);
}

static bool keep_body(struct exchange *x, const char *data, size_t len)
{
	if (x->body_len + len + 1 > x->body_room) {
		size_t room = 2 * (x->body_len + len) + 256;
		char *more = realloc(x->body, room);

		if (!more)
			return false;
		x->body = more;
		x->body_room = room;
	}
	memcpy(x->body + x->body_len, data, len);
	x->body_len += len;
	x->body[x->body_len] = '\0';
	return true;
}

/* false: it was refused, or there is no memory. last: the body is whole. */
static bool expand_body(struct conn *c, const char *data, size_t len, bool last)
{
	static char out[64u << 10]; /* the loop's thread */
	struct coder_io io = {.in = data, .in_len = len, .last = last};
	int r = 0;

	do {
		io.out = out;
		io.room = sizeof(out);
		r = coder_step(c->x.coder, &io);
		if (r < 0) {
			conn_refuse(c, 400, "the body is not what its Content-Encoding says");
			return false;
		}
		if (c->x.body_len + sizeof(out) - io.room > BODY_MAX) {
			conn_refuse(c, 413, "the body expands to more than 16 MiB");
			return false;
		}
		if (!keep_body(&c->x, out, sizeof(out) - io.room)) {
			conn_close(c);
			return false;
		}
	} while (r == 0 && (io.in_len || !io.room));
	return true;
}

/* 1: taken, 0: the pipe is full, -1: nobody reads it. */
static int to_pipe(struct exchange *x, const char *data, size_t len, size_t *ret_taken)
{
	ssize_t n = x->pipe < 0 ? (ssize_t)len : write(x->pipe, data, len);

	*ret_taken = n > 0 ? (size_t)n : 0;
	if (n >= 0)
		return (size_t)n == len;
	if (errno == EAGAIN)
		return 0;
	fd_close(&x->pipe); /* the handler has had enough: the rest is read and dropped */
	watch_done(&x->pipe_watch);
	*ret_taken = len;
	return 1;
}

static void drop_input(struct conn *c, size_t n)
{
	if (!n)
		return;
	memmove(c->in, c->in + n, c->in_len - n);
	c->in_len -= n;
	if (!c->in_len) {
		free(c->in);
		c->in = NULL;
	}
}

static void body_whole(struct conn *c)
{
	bool streamed = c->x.pipe_watch.ready;

	fd_close(&c->x.pipe);
	watch_done(&c->x.pipe_watch);
	c->state = CONN_ANSWER;
	if (!streamed && !c->x.over) /* who was refused already is not begun with */
		begin_exchange(c);
}

/* false: more input is needed, or the pipe is full, or it is over. */
static bool take_body(struct conn *c)
{
	struct http_error he;
	const char *data = NULL;
	size_t used = 0, len = 0, taken = 0;
	bool streamed = c->x.pipe_watch.ready;
	struct http_body before = c->decoder;
	int r = http_body_feed(&c->decoder, c->in ? c->in : "", c->in_len, &used, &data, &len, &he);

	if (r < 0) {
		if (streamed) /* the handler must not take a part for the whole */
			conn_close(c);
		else
			conn_refuse(c, he.status, he.why);
		return false;
	}
	if (!streamed && c->x.coder) {
		if ((len || r > 0) && !expand_body(c, data, len, r > 0))
			return false;
	} else if (!streamed && len && !keep_body(&c->x, data, len)) {
		conn_close(c);
		return false;
	}
	if (streamed && len) {
		c->x.pipe_wanted = to_pipe(&c->x, data, len, &taken) == 0;
		if (taken < len) { /* decode the part that went again, and no more */
			c->decoder = before;
			size_t part = (size_t)(data - (c->in ? c->in : "")) + taken;

			if (part)
				(void)http_body_feed(&c->decoder, c->in, part, &used, &data, &len,
						     &he);
			drop_input(c, part);
			return !c->x.pipe_wanted;
		}
	}
	drop_input(c, used);
	if (r > 0)
		body_whole(c);
	return r == 0 && c->in_len > 0;
}

static void pipe_ready(struct watch *w, uint32_t events)
{
	struct exchange *x = (struct exchange *)((char *)w - offsetof(struct exchange, pipe_watch));
	struct conn *c = x->conn;

	(void)events;
	x->pipe_wanted = false;
	(void)watch_set(w, 0);
	c->in_callback = true;
	go_on(c);
	c->in_callback = false;
	conn_push(c);
}

/* The row wants its body as a stream: begin the call now. */
static bool open_pipe(struct conn *c)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	(void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
	(void)fcntl(ends[1], F_SETPIPE_SZ, 1 << 20); /* or it is smaller */
	c->x.pipe = ends[1];
	watch_init(&c->x.pipe_watch, c->server->loop, ends[1], pipe_ready);
	c->x.pipe_end = ends[0];
	return true;
}

/* false: refused. */
static bool take_coding(struct conn *c, bool raw)
{
	const struct http_field *f = http_head_field(&c->x.head, "content-encoding");

	if (!f)
		return true;
	if (!coding_find(f->value, f->value_len, &c->x.coding)) {
		exchange_header(&c->x, "Accept-Encoding", "gzip, zstd");
		conn_refuse(c, 415, "Content-Encoding: gzip and zstd are taken");
		return false;
	}
	if (raw || c->x.coding == HTTP_IDENTITY)
		return true; /* who reads the pipe expands it */
	c->x.coder = coder_new(c->x.coding, true);
	if (!c->x.coder)
		conn_close(c);
	return c->x.coder;
}

static void head_whole(struct conn *c)
{
	struct exchange *x = &c->x;
	struct http_path_args path = {.n = 0};
	const struct op *op = rest_route(&x->head, &path);
	bool raw = op && op->flags & OP_RAW_BODY;
	bool endless = op && op->flags & (OP_RAW_BODY | OP_BELOW);
	struct http_error he;

	c->keep = x->head.keep_alive;
	unlink_conn(c);
	link_last(c);
	if (http_body_of_request(&c->decoder, &x->head, endless ? UINT64_MAX : BODY_MAX, &he) < 0) {
		conn_refuse(c, he.status, he.why);
		return;
	}
	c->state = c->decoder.state == HTTP_BODY_DONE ? CONN_ANSWER : CONN_BODY;
	if (exchange_preflight(x))
		return;
	if (!exchange_admit(x, op && op->flags & OP_PROBE && c->server->config.open_probes))
		return;
	bool theirs = op && path.n && !(op->flags & OP_FRONT);
	if (elders_route(c->server->api->elders, x, theirs ? path.value[0] : NULL))
		return;
	if (op && op->flags & OP_TAKES) { /* who takes the connection reads the body */
		c->keep = c->keep && c->decoder.state == HTTP_BODY_DONE;
		c->state = CONN_ANSWER;
		begin_exchange(c);
		return;
	}
	if (!take_coding(c, raw))
		return;
	c->state = CONN_BODY;
	c->part = 0;
	arm(c, BODY_IDLE_MS);
	if (x->head.expect_continue && c->decoder.state != HTTP_BODY_DONE)
		conn_add(c, "HTTP/1.1 100 Continue\r\n\r\n", 25);
	if (!raw)
		return;
	if (!open_pipe(c))
		conn_refuse(c, 503, "no descriptor is left");
	else
		begin_exchange(c);
}

/* The head's slices point into its bytes: they stay with the exchange. */
static bool take_head(struct conn *c)
{
	struct http_error he;
	int used = http_head_parse(&c->x.head, c->in, c->in_len, HTTP_REQUEST, &he);

	if (used < 0)
		conn_refuse(c, he.status, he.why);
	if (used <= 0)
		return false;
	char *rest = malloc(IN_SIZE);
	if (!rest) {
		conn_close(c);
		return false;
	}
	c->x.head_bytes = c->in;
	c->x.head_len = (size_t)used;
	c->in_len -= (size_t)used;
	memcpy(rest, c->in + used, c->in_len);
	c->in = rest;
	if (!c->in_len) {
		free(c->in);
		c->in = NULL;
	}
	head_whole(c);
	return true;
}

/* As far as what was read goes. */
static void go_on(struct conn *c)
{
	bool more = true;

	while (more && !c->dead) {
		if (c->state == CONN_HEAD)
			more = c->in_len && take_head(c);
		else if (c->state == CONN_BODY)
			more = take_body(c);
		else
			more = false;
	}
	if (!c->dead && c->state == CONN_BODY && c->x.pipe_wanted)
		(void)watch_set(&c->x.pipe_watch, EPOLLOUT);
}

static bool read_some(struct conn *c)
{
	if (!c->in && !(c->in = malloc(IN_SIZE)))
		return false;
	bool first = !c->in_len;
	ssize_t n = recv(c->watch.fd, c->in + c->in_len, IN_SIZE - c->in_len, 0);

	if (n < 0)
		return errno == EAGAIN;
	if (n == 0)
		return false;
	c->in_len += (size_t)n;
	c->part += (size_t)n;
	if (c->state == CONN_BODY && c->part >= BODY_PART) {
		c->part = 0;
		arm(c, BODY_IDLE_MS);
	} else if (c->state == CONN_HEAD && first) {
		arm(c, HEAD_MS);
	}
	return true;
}

static void leave_callback(struct conn *c)
{
	c->in_callback = false;
	if (c->dead)
		free_conn(c);
	else
		conn_push(c);
}

static void ready(struct watch *w, uint32_t events)
{
	struct conn *c = (struct conn *)w;

	c->in_callback = true;
	if (events & EPOLLRDHUP && c->listener->way == API_UNIX)
		c->half = true;
	if (events & (EPOLLHUP | EPOLLERR) ||
	    (events & EPOLLRDHUP && !(events & EPOLLIN) && !c->half)) {
		conn_close(c);
	} else if (events & EPOLLIN) {
		if (c->state == CONN_CLOSING ? !drop_more(c) : !read_some(c))
			conn_close(c);
		else
			go_on(c);
	}
	leave_callback(c);
}

static void too_slow(struct timer *t)
{
	struct conn *c = (struct conn *)((char *)t - offsetof(struct conn, timer));

	if (c->state == CONN_BODY && c->x.pipe_wanted) {
		arm(c, BODY_IDLE_MS); /* he would send, but the sandbox is slow */
		return;
	}
	bool idle = c->state == CONN_HEAD && !c->in_len;
	if (c->state != CONN_CLOSING && !(idle && c->served))
		c->server->counts.dropped++;
	if (idle || c->state >= CONN_ANSWER || c->x.pipe_watch.ready) {
		conn_close(c);
		return;
	}
	c->in_callback = true;
	conn_refuse(c, 408, "the request took too long to arrive");
	c->in_callback = false;
	conn_push(c);
}

struct conn *conn_new(struct listener *l, int fd, uint32_t uid, const char *from)
{
	struct server *s = l->server;
	struct conn *c = calloc(1, sizeof(*c));

	if (!c) {
		(void)close(fd);
		return NULL;
	}
	c->server = s;
	c->listener = l;
	c->uid = uid;
	(void)snprintf(c->from, sizeof(c->from), "%s", from);
	c->out_end = &c->out;
	c->timer.fire = too_slow;
	watch_init(&c->watch, s->loop, fd, ready);
	s->counts.connections++;
	s->counts.accepted++;
	link_last(c);
	exchange_init(&c->x, c);
	arm(c, HEAD_MS);
	if (watch_set(&c->watch, EPOLLRDHUP | EPOLLIN) < 0) {
		conn_close(c);
		return NULL;
	}
	return c;
}

void conn_resume(struct conn *c, const char *bytes, size_t len)
{
	arm(c, len ? HEAD_MS : IDLE_MS);
	c->served = true;
	if (!len)
		return;
	c->in = malloc(IN_SIZE);
	if (!c->in || len > IN_SIZE) {
		conn_close(c);
		return;
	}
	memcpy(c->in, bytes, len);
	c->in_len = len;
	c->in_callback = true;
	go_on(c);
	leave_callback(c);
}
