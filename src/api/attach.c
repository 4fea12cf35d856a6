/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A background process, followed as it prints: by events, or by a WebSocket, which also takes what
 * is typed. The daemon keeps the output; we hold an offset and what the client has not taken yet,
 * so a client that comes back goes on where he was, and none of them slows the process.
 *
 *	server -> client	binary: bytes that it printed. text: {"event": ...}: attached, stream,
 *				missed, exit, error
 *	client -> server	binary: bytes to type. text: {"type": "resize", "rows", "cols"},
 *				{"type": "signal", "signal"}, {"type": "eof"}
 *
 * A WebSocket is one thread's: it waits for the client and for the process at the same time, by
 * asking the daemon for more output until the client's socket is readable.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "api/boxes.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "api/process.h"
#include "api/taken.h"
#include "base/fd.h"
#include "http/websocket.h"
#include "http/write.h"
#include "pinfold/pinfold.h"

#define MESSAGE_MAX (1u << 20) /* of a client's */
#define CONTROL_MAX 4096u
#define OUT_MAX (2u << 20) /* what he has not taken: one answer of the daemon, and what we say */
#define PING_MS 20000u
#define SILENT_MAX 3	/* pings without a sign of life */
#define SLOW_MS 60000	/* he takes nothing at all */
#define LINGER_MS 5000u /* for his close frame */

/* Codes of our own, beside those of RFC 6455. */
enum { CLOSE_ENDED = 1000, CLOSE_GONE = 1001, CLOSE_SLOW = 4008 };

struct terminal {
	const char *id; /* borrowed */
	uint32_t pid;
	struct taken conn;
	int ready; /* epoll: the client said something, or the call was cancelled */
	struct ws ws;
	char control[CONTROL_MAX];
	size_t control_len;
	char *out;
	size_t out_len, out_done, out_room;
	uint64_t offset; /* the next byte that he gets */
	uint64_t past;	 /* what was printed before he came */
	int stream;
	int silent; /* pings that he did not answer */
	bool begun, closing, over;
};

static void add_out(struct terminal *t, const void *data, size_t len)
{
	if (t->out_done == t->out_len)
		t->out_done = t->out_len = 0;
	if (t->out_len + len > t->out_room) {
		size_t room = t->out_len + len + 4096;
		char *more = realloc(t->out, room);

		if (!more) {
			t->over = true;
			return;
		}
		t->out = more;
		t->out_room = room;
	}
	memcpy(t->out + t->out_len, data, len);
	t->out_len += len;
}

static void send_frame(struct terminal *t, enum ws_op op, const void *data, size_t len)
{
	char head[WS_HEAD_MAX];
	size_t n = ws_frame_head(head, op, true, len);

	/* Our own answers to a client who reads none of them must not pile up. */
	if (t->out_len - t->out_done + n + len > OUT_MAX) {
		t->over = true;
		return;
	}
	add_out(t, head, n);
	add_out(t, data, len);
}

static void send_close(struct terminal *t, unsigned code, const char *why)
{
	char frame[2 + WS_CONTROL_MAX];

	if (t->closing)
		return;
	add_out(t, frame, ws_close_frame(frame, (uint16_t)code, why));
	t->closing = true;
}

static void send_event(struct terminal *t, const char *name, struct value *o)
{
	size_t len = 0;

	value_set(o, "event", value_of_str(name));
	auto_free char *text = value_text(o, &len);
	if (text)
		send_frame(t, WS_TEXT, text, len);
	value_free(o);
}

static void send_error(struct terminal *t, const struct err *e)
{
	send_event(t, "error", error_value(e));
}

/* As much as he takes now; false: he is gone. */
static bool flush(struct terminal *t)
{
	while (t->out_done < t->out_len) {
		ssize_t n = send(t->conn.fd, t->out + t->out_done, t->out_len - t->out_done,
				 MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return errno == EAGAIN;
		t->out_done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

/* What the client says. */

static int obey(struct terminal *t, const struct value *v, struct err *e)
{
	const char *type = value_str(value_get(v, "type"));
	const char *name = value_str(value_get(v, "signal"));
	int64_t rows = value_int(value_get(v, "rows")), cols = value_int(value_get(v, "cols"));
	struct pinfold_error failure;
	size_t written;
	int r;

	if (type && strcmp(type, "resize") == 0) {
		if (rows < 1 || rows > 10000 || cols < 1 || cols > 10000)
			return err_set(e, ERR_INVALID, "resize: rows and cols from 1 to 10000");
		r = pinfold_process_resize(t->id, t->pid, (unsigned)rows, (unsigned)cols, &failure);
	} else if (type && strcmp(type, "signal") == 0) {
		int signo = name ? process_signal_of(name) : 0;

		if (!signo)
			return err_set(e, ERR_INVALID, "signal: INT, TERM, KILL and the like");
		r = pinfold_process_signal(t->id, t->pid, signo, &failure);
	} else if (type && strcmp(type, "eof") == 0) {
		r = pinfold_process_write(t->id, t->pid, "", 0, 1, &written, &failure);
	} else {
		return err_set(e, ERR_INVALID, "type: resize, signal or eof");
	}
	return r < 0 ? api_error(e, &failure) : 0;
}

static void take_control(struct terminal *t, const struct ws_event *ev)
{
	struct err e = ERR_INIT;
	auto_value *v = NULL;

	if (t->control_len + ev->len <= sizeof(t->control))
		memcpy(t->control + t->control_len, ev->data, ev->len);
	t->control_len += ev->len;
	if (!ev->is_last)
		return;
	int r = t->control_len > sizeof(t->control)
			? err_set(&e, ERR_INVALID, "a text of more than %u bytes", CONTROL_MAX)
			: value_parse(t->control, t->control_len, &v, &e);
	t->control_len = 0;
	if (r >= 0)
		r = obey(t, v, &e);
	if (r < 0)
		send_error(t, &e);
}

static void type_in(struct terminal *t, const char *data, size_t len)
{
	struct pinfold_error failure;
	struct err e = ERR_INIT;
	size_t written = 0;

	if (len && pinfold_process_write(t->id, t->pid, data, len, 0, &written, &failure) < 0) {
		(void)api_error(&e, &failure);
		send_error(t, &e);
	}
}

static void take_frame(struct terminal *t, const struct ws_event *ev)
{
	switch (ev->op) {
	case WS_TEXT: take_control(t, ev); break;
	case WS_BINARY: type_in(t, ev->data, ev->len); break;
	case WS_PING: send_frame(t, WS_PONG, ev->data, ev->len); break;
	case WS_CLOSE:
		send_close(t, ev->close == 1005 ? CLOSE_ENDED : ev->close, "");
		t->over = true; /* he is told, and need not be waited for */
		break;
	case WS_MORE:
	case WS_PONG: break;
	}
}

static void take_bytes(struct terminal *t, char *in, size_t n)
{
	struct http_error he;
	struct ws_event ev;

	t->silent = 0;
	while (!t->over) {
		size_t used = 0;
		int r = ws_feed(&t->ws, in, n, &used, &ev, &he);

		if (r < 0)
			send_close(t, he.status, he.why);
		if (r <= 0)
			return;
		in += used;
		n -= used;
		take_frame(t, &ev);
	}
}

/* All that is there; false: he is gone. One who never stops talking still gets his output. */
static bool listen_to(struct terminal *t)
{
	char buf[16384];

	for (unsigned turns = 0; turns < 16 && !t->over; turns++) {
		ssize_t n = recv(t->conn.fd, buf, sizeof(buf), 0);

		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return false;
		if (n < 0)
			return true;
		take_bytes(t, buf, (size_t)n);
	}
	return true;
}

/* What the process says. */

static void name_stream(struct terminal *t, int stream)
{
	struct value *o = value_object();

	if (stream == t->stream)
		return;
	t->stream = stream;
	value_set(o, "stream", value_of_str(stream == 2 ? "stderr" : "stdout"));
	send_event(t, "stream", o);
}

/* Bytes that the daemon does not have any more. Of what was printed before he came he is told;
 * later it means that he is too slow, and whatever he shows is not what was printed. */
static bool missed(struct terminal *t, uint64_t now_at)
{
	struct value *o;
	char why[80];

	if (now_at <= t->offset)
		return true;
	if (now_at > t->past) {
		(void)snprintf(why, sizeof(why), "too slow: bytes %llu to %llu are lost",
			       (unsigned long long)t->offset, (unsigned long long)now_at);
		send_close(t, CLOSE_SLOW, why);
		return false;
	}
	o = value_object();
	value_set(o, "offset", value_of_u64(t->offset));
	value_set(o, "next_offset", value_of_u64(now_at));
	send_event(t, "missed", o);
	return true;
}

static void begin(struct terminal *t, const struct pinfold_process_output *out)
{
	struct value *o = value_object();

	t->begun = true;
	t->past = out->state.output_bytes;
	t->offset = out->offset;
	value_set(o, "pid", value_of_u64(out->state.pid));
	value_set(o, "offset", value_of_u64(out->offset));
	value_set(o, "pty", value_of_bool(out->state.has_pty));
	value_set(o, "stdin", value_of_bool(out->state.has_stdin));
	send_event(t, "attached", o);
}

static void pass_output(struct terminal *t, const struct pinfold_process_output *out)
{
	size_t at = 0;

	if (!t->begun)
		begin(t, out);
	if (out->len && !missed(t, out->offset))
		return;
	for (size_t i = 0; i < out->n_runs; at += out->runs[i++].len) {
		name_stream(t, out->runs[i].stream);
		send_frame(t, WS_BINARY, out->data + at, out->runs[i].len);
	}
	if (out->len)
		t->offset = out->offset + out->len;
	if (out->state.running || t->offset < out->state.output_bytes)
		return;
	send_event(t, "exit", process_describe(&out->state));
	send_close(t, CLOSE_ENDED, out->state.status);
}

static void ask_for_more(struct terminal *t, int64_t from)
{
	struct pinfold_process_output out = {0};
	struct pinfold_error failure;
	struct err e = ERR_INIT;
	bool began = t->begun;
	uint64_t before = t->offset;

	if (pinfold_process_read(t->id, t->pid, began ? (int64_t)t->offset : from,
				 began ? PING_MS : 0, t->ready, &out, &failure) < 0) {
		(void)api_error(&e, &failure);
		send_error(t, &e);
		send_close(t, CLOSE_GONE, "the sandbox or its process is gone");
	} else {
		pass_output(t, &out);
	}
	pinfold_process_output_free(&out);
	struct pollfd p = {.fd = t->ready, .events = POLLIN};
	if (began && t->offset == before && !t->closing && poll(&p, 1, 0) == 0) {
		t->over = t->over || t->silent++ >= SILENT_MAX;
		send_frame(t, WS_PING, "", 0);
	}
}

/* He has not taken everything yet: no more is read before he has. */
static bool wait_for_client(struct terminal *t, int cancel)
{
	struct pollfd p[2] = {{.fd = t->conn.fd, .events = POLLIN | POLLOUT},
			      {.fd = cancel, .events = POLLIN}};

	if (t->closing)
		p[0].events = POLLOUT;
	return poll(p, 2, SLOW_MS) > 0 && !p[1].revents;
}

/* Our close frame is on its way: what he still says is dropped until he closes, too. */
static void linger(struct terminal *t)
{
	struct pollfd p = {.fd = t->conn.fd, .events = POLLIN};
	uint64_t until = loop_now_ms() + LINGER_MS;
	char sink[16384];

	(void)shutdown(t->conn.fd, SHUT_WR); /* or he is gone */
	for (uint64_t now = loop_now_ms(); now < until; now = loop_now_ms()) {
		if (poll(&p, 1, (int)(until - now)) <= 0 ||
		    recv(t->conn.fd, sink, sizeof(sink), 0) <= 0)
			return;
	}
}

static void talk(struct terminal *t, int cancel, int64_t from)
{
	take_bytes(t, t->conn.in, t->conn.in_len);
	while (flush(t) && !t->over) {
		if (t->out_done < t->out_len) {
			if (!wait_for_client(t, cancel))
				return;
		} else if (t->closing) {
			linger(t);
			return;
		} else {
			ask_for_more(t, from);
		}
		struct pollfd p = {.fd = cancel, .events = POLLIN};
		if (poll(&p, 1, 0) > 0 || (!t->closing && !listen_to(t)))
			return;
	}
}

static int open_ready(struct terminal *t, int cancel, struct err *e)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP};

	t->ready = epoll_create1(EPOLL_CLOEXEC);
	if (t->ready < 0 || epoll_ctl(t->ready, EPOLL_CTL_ADD, t->conn.fd, &ev) < 0 ||
	    epoll_ctl(t->ready, EPOLL_CTL_ADD, cancel, &ev) < 0)
		return err_sys(e, "epoll");
	return 0;
}

static int accept_it(struct terminal *t, const struct call *c)
{
	char buf[512];
	struct http_out o;

	http_out_init(&o, buf, sizeof(buf));
	http_out_status(&o, 101);
	http_out_field(&o, "Upgrade", "websocket");
	http_out_field(&o, "Connection", "Upgrade");
	http_out_field(&o, "Sec-WebSocket-Accept", c->websocket);
	http_out_field(&o, "Request-Id", c->request_id);
	int n = http_out_end(&o);
	if (n > 0)
		add_out(t, buf, (size_t)n);
	return n;
}

static int by_websocket(struct call *c, const struct box *b, struct err *e)
{
	auto_free struct terminal *t = calloc(1, sizeof(*t));

	if (!t)
		return err_sys(e, "terminal");
	*t = (struct terminal){.id = b->id, .pid = (uint32_t)arg_int(c, "pid", 0), .stream = 1};
	t->ready = t->conn.fd = FD_NONE;
	ws_init(&t->ws, MESSAGE_MAX);
	int r = call_take(c, &t->conn, e);
	if (r >= 0)
		r = open_ready(t, call_cancelled_fd(c), e);
	if (r >= 0 && accept_it(t, c) > 0)
		talk(t, call_cancelled_fd(c), arg_int(c, "offset", 0));
	fd_close(&t->ready);
	taken_done(&t->conn);
	free(t->out);
	return r;
}

/* By events: the same without a way back. */

static void tell(struct feed *feed, const char *name, struct value *taken, uint64_t offset)
{
	size_t len = 0;
	auto_free char *text = value_text(taken, &len);
	char id[24];

	(void)snprintf(id, sizeof(id), "%llu", (unsigned long long)offset);
	if (text)
		feed_add_id(feed, name, text, len, id);
	value_free(taken);
}

static void tell_output(struct feed *feed, const struct pinfold_process_output *out)
{
	size_t at = 0;

	for (size_t i = 0; i < out->n_runs; at += out->runs[i++].len) {
		struct value *o = value_object();
		uint64_t from = out->offset + at, to = from + out->runs[i].len;

		value_set(o, "offset", value_of_u64(from));
		value_set(o, "next_offset", value_of_u64(to));
		value_set_text(o, out->data + at, out->runs[i].len);
		tell(feed, out->runs[i].stream == 2 ? "stderr" : "stdout", o, to);
	}
}

/* 1: it has ended, and all was told. */
static int next_output(struct call *c, const struct box *b, struct feed *feed, int64_t *offset,
		       uint32_t wait_ms, struct err *e)
{
	struct pinfold_process_output out = {0};
	struct pinfold_error failure;

	if (pinfold_process_read(b->id, (uint32_t)arg_int(c, "pid", 0), *offset, wait_ms,
				 call_cancelled_fd(c), &out, &failure) < 0)
		return api_error(e, &failure);
	tell_output(feed, &out);
	*offset = (int64_t)(out.offset + out.len);
	bool ended = !out.state.running && (uint64_t)*offset >= out.state.output_bytes;
	if (ended)
		tell(feed, "exit", process_describe(&out.state), (uint64_t)*offset);
	pinfold_process_output_free(&out);
	return ended;
}

static int by_events(struct call *c, const struct box *b, struct err *e)
{
	struct feed *feed = feed_new(c->api->loop);
	int64_t offset = arg_int(c, "offset", 0);

	if (!feed)
		return err_sys(e, "events");
	/* Ids are offsets: he comes back with the last that he has seen. */
	offset = c->last_event && !arg(c, "offset") ? (int64_t)c->last_event : offset;
	c->last_event = 0;
	int r = next_output(c, b, feed, &offset, 0, e);
	if (r >= 0)
		call_stream(c, feed);
	while (r == 0 && !call_cancelled(c))
		r = next_output(c, b, feed, &offset, PING_MS, e);
	feed_close(feed);
	feed_unref(feed);
	return r < 0 ? r : 0;
}

int op_process_attach(struct call *c, struct err *e)
{
	struct box *b = box_find(c->api, &c->who, arg_str(c, "id"), e);

	if (!b)
		return -ENOENT;
	int r = c->websocket[0] ? by_websocket(c, b, e) : by_events(c, b, e);
	box_put(c->api, b);
	return r;
}
