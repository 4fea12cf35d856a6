/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two ways of one exchange, by one thread that waits for both sockets. Each way has a buffer of
 * what came and one of what is to go; nothing is read while what went before has not left, so
 * either side slows the other and neither fills our memory.
 *
 *	answer: HEAD -> BODY -> DONE          or HEAD -> TUNNEL -> DONE for a WebSocket
 *
 * In TUNNEL both sides speak past us: the client knows from our 101 that what comes is the
 * sandbox's.
 */
#include "api/proxy.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "api/loop.h"
#include "api/proxy_int.h"
#include "base/fd.h"

#define BUF_SIZE (48u << 10)
#define OUT_SIZE (BUF_SIZE + PROXY_HEAD_SIZE)
#define IDLE_MS 300000
#define CONNECT_MS 10000
#define LINGER_MS 2000u

enum state { ANSWER_HEAD, ANSWER_BODY, TUNNEL, DONE };

/* From one socket to the other. */
struct way {
	int from, to;
	char in[BUF_SIZE], out[OUT_SIZE];
	size_t in_len, out_len, out_done;
	struct http_body body;
	enum framing framing;
	bool eof, reset, whole; /* no more comes; it broke; the body was passed on to its end */
};

struct proxy {
	struct way ask, answer;
	enum state state;
	struct http_head head; /* of the answer */
	const struct taken *client;
	const struct proxy_target *to;
	bool told;     /* the client has the beginning of an answer */
	bool may_half; /* on a Unix socket who sends no more is not gone */
};

static_assert(BUF_SIZE > HTTP_HEAD_MAX, "a head fits, and one that is too long is seen to be");

static bool is_empty(const struct way *w)
{
	return w->out_done == w->out_len;
}

static void put(struct way *w, const void *data, size_t len)
{
	if (len > sizeof(w->out) - w->out_len) /* what calls leaves room */
		return;
	memcpy(w->out + w->out_len, data, len);
	w->out_len += len;
}

static void put_part(struct way *w, const char *data, size_t len)
{
	char head[HTTP_CHUNK_HEAD_MAX];

	if (!len)
		return;
	if (w->framing == FRAME_CHUNKS)
		put(w, head, http_chunk_head(head, len));
	put(w, data, len);
	if (w->framing == FRAME_CHUNKS)
		put(w, "\r\n", 2);
}

static void drop(struct way *w, size_t n)
{
	memmove(w->in, w->in + n, w->in_len - n);
	w->in_len -= n;
}

/* Payload from in to out, as far as there is room. */
static int pass_body(struct way *w, struct http_error *he)
{
	while (!w->whole && sizeof(w->out) - w->out_len >= w->in_len + 2 * HTTP_CHUNK_HEAD_MAX) {
		const char *data = NULL;
		size_t used = 0, len = 0;
		int r = http_body_feed(&w->body, w->in, w->in_len, &used, &data, &len, he);

		if (r < 0)
			return r;
		put_part(w, data, len);
		drop(w, used);
		if (r == 0 && w->eof && !w->in_len)
			r = w->reset ? http_refuse(he, 502, "its answer broke off")
			    : http_body_eof(&w->body, he) < 0 ? -EIO
							      : 1;
		if (r < 0)
			return r;
		w->whole = r > 0;
		if (w->whole && w->framing == FRAME_CHUNKS)
			put(w, HTTP_CHUNK_END, 5);
		if (!used && !w->whole)
			return 0;
	}
	return 0;
}

static int no_answer(struct proxy *p, const char *why, struct err *e)
{
	(void)err_set(e, ERR_CONFLICT, "port %u: %s", p->to->port, why);
	(void)err_detail(e, "port_broken");
	return err_remedy(e, "look at what the server in the sandbox prints");
}

static enum framing framing_of(const struct http_body *b, bool chunks_are_known)
{
	switch (b->kind) {
	case HTTP_BODY_NONE: return FRAME_NONE;
	case HTTP_BODY_LENGTH: return FRAME_LENGTH;
	case HTTP_BODY_CHUNKED:
	case HTTP_BODY_TO_END: break;
	}
	return chunks_are_known ? FRAME_CHUNKS : FRAME_TO_END;
}

static int begin_answer(struct proxy *p, struct err *e)
{
	struct way *w = &p->answer;
	const struct http_head *asked = &p->client->head;
	struct http_error he;
	char buf[PROXY_HEAD_SIZE];
	int n;

	if (p->head.status == 101) {
		if (!proxy_is_accepted(&p->head, p->to))
			return no_answer(p, "it changed to a protocol that was not asked for", e);
		n = proxy_upgrade_head(buf, &p->head, p->to);
		p->state = TUNNEL;
	} else {
		if (http_body_of_response(&w->body, &p->head, asked->method, UINT64_MAX, &he) < 0)
			return no_answer(p, he.why, e);
		w->framing = framing_of(&w->body, asked->minor > 0);
		n = proxy_answer_head(buf, &p->head, p->to, w->framing);
		p->state = ANSWER_BODY;
	}
	if (n < 0)
		return no_answer(p, "its answer has too many fields", e);
	put(w, buf, (size_t)n);
	return 0;
}

/* 1: there is more to do with what is there. */
static int take_head(struct proxy *p, struct err *e)
{
	struct way *w = &p->answer;
	struct http_error he;
	int used = http_head_parse(&p->head, w->in, w->in_len, HTTP_RESPONSE, &he);

	if (used < 0)
		return no_answer(p, he.why, e);
	if (used == 0 && w->eof)
		return no_answer(p, "it closed the connection without an answer", e);
	if (used == 0)
		return 0;
	int r = p->head.status >= 200 || p->head.status == 101 ? begin_answer(p, e) : 0;
	drop(w, (size_t)used); /* its slices are no more */
	http_head_init(&p->head);
	return r < 0 ? r : 1;
}

/* As it came. 1: this way is closed, and all of it went. */
static int pass_bytes(struct way *w)
{
	if (is_empty(w) && w->in_len) {
		put(w, w->in, w->in_len);
		w->in_len = 0;
	}
	return w->eof && !w->in_len && is_empty(w);
}

/* All that can be done without waiting. */
static int work(struct proxy *p, struct err *e)
{
	struct http_error he;
	int r = 1;

	if (p->state != TUNNEL && pass_body(&p->ask, &he) < 0)
		return err_set(e, ERR_INVALID, "%s", he.why);
	while (r > 0 && p->state == ANSWER_HEAD)
		r = take_head(p, e);
	if (r < 0)
		return r;
	if (p->state == ANSWER_BODY) {
		if (pass_body(&p->answer, &he) < 0)
			return no_answer(p, he.why, e);
		if (p->answer.whole && is_empty(&p->answer))
			p->state = DONE;
	} else if (p->state == TUNNEL && (pass_bytes(&p->ask) + pass_bytes(&p->answer)) > 0) {
		p->state = DONE;
	}
	return 0;
}

/* false: that side is gone. */
static bool flush(struct way *w)
{
	while (!is_empty(w)) {
		ssize_t n =
			send(w->to, w->out + w->out_done, w->out_len - w->out_done, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return errno == EAGAIN;
		w->out_done += n > 0 ? (size_t)n : 0;
	}
	w->out_done = w->out_len = 0;
	return true;
}

static bool wants_more(const struct way *w)
{
	return !w->eof && w->in_len < sizeof(w->in) && is_empty(w);
}

static bool fill(struct way *w)
{
	ssize_t n = recv(w->from, w->in + w->in_len, sizeof(w->in) - w->in_len, 0);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	w->in_len += (size_t)n;
	w->eof = n == 0;
	return true;
}

/* 1: go on, 0: he who asked is gone or gave up, < 0: the server is, or nothing moves. */
static int wait_for_both(struct proxy *p, int cancel, struct err *e)
{
	bool asks = (p->state == TUNNEL || !p->ask.whole) && wants_more(&p->ask);
	bool answers = wants_more(&p->answer);
	struct pollfd fds[3] = {
		{.fd = p->ask.from, .events = POLLRDHUP | (asks ? POLLIN : 0)},
		{.fd = p->answer.from, .events = answers ? POLLIN : 0},
		{.fd = cancel, .events = POLLIN},
	};
	fds[0].events |= is_empty(&p->answer) ? 0 : POLLOUT;
	fds[1].events |= is_empty(&p->ask) ? 0 : POLLOUT;
	if (p->state == TUNNEL || p->may_half)
		fds[0].events &=
			~POLLRDHUP; /* its end is in its place, or means no more than it says */
	if (!fds[1].events)	    /* it may have hung up; what it said is still to be taken */
		fds[1].fd = -1;
	int r = poll(fds, 3, IDLE_MS);
	if (r == 0)
		return err_set(e, ERR_TIMEOUT, "port %u: nothing came for %d s", p->to->port,
			       IDLE_MS / 1000);
	if (fds[2].revents || (fds[0].revents & (POLLERR | POLLHUP)) ||
	    (fds[0].revents & POLLRDHUP && !(fds[0].revents & POLLIN)))
		return 0;
	if (fds[0].revents & POLLIN && !fill(&p->ask))
		return 0;
	if (p->state != TUNNEL && p->ask.eof && !p->ask.whole && !p->ask.in_len)
		return 0; /* his body was not whole */
	if (answers && fds[1].revents && !fill(&p->answer))
		p->answer.eof = p->answer.reset = true;
	return 1;
}

static int run(struct proxy *p, int cancel, struct err *e)
{
	int r = 1;

	while (r > 0) {
		r = work(p, e);
		if (r < 0)
			return r;
		bool asked = !is_empty(&p->ask), answered = !is_empty(&p->answer);
		p->told = p->told || p->state != ANSWER_HEAD;
		/* A server that reads no more may still answer. */
		if (!flush(&p->ask)) {
			p->ask.out_done = p->ask.out_len = 0;
			p->ask.whole = p->ask.whole || p->state != TUNNEL;
		}
		if (!flush(&p->answer))
			return 0;
		if (p->state == DONE)
			return 0;
		/* Where there is room again something may wait for it. */
		bool moved = (asked && is_empty(&p->ask)) || (answered && is_empty(&p->answer));
		r = moved ? 1 : wait_for_both(p, cancel, e);
	}
	return r;
}

static int begin(struct proxy *p, struct err *e)
{
	struct taken *client = (struct taken *)(uintptr_t)p->client;
	char buf[PROXY_HEAD_SIZE];

	p->ask.body = client->body;
	p->ask.framing = framing_of(&p->ask.body, true);
	p->ask.whole = p->ask.body.state == HTTP_BODY_DONE;
	int n = proxy_request_head(buf, client, p->to, p->ask.framing);
	if (n < 0)
		return err_set(e, ERR_INVALID, "the request has too many fields to be passed on");
	put(&p->ask, buf, (size_t)n);
	p->ask.in_len = client->in_len < sizeof(p->ask.in) ? client->in_len : sizeof(p->ask.in);
	if (p->ask.in_len)
		memcpy(p->ask.in, client->in, p->ask.in_len);
	if (client->head.expect_continue)
		put(&p->answer, "HTTP/1.1 100 Continue\r\n\r\n", 25);
	return 0;
}

static int await_connection(int inside, unsigned port, int cancel, struct err *e)
{
	struct pollfd fds[2] = {{.fd = inside, .events = POLLOUT},
				{.fd = cancel, .events = POLLIN}};
	int error = ETIMEDOUT;
	socklen_t n = sizeof(error);

	if (poll(fds, 2, CONNECT_MS) > 0 && fds[0].revents)
		(void)getsockopt(inside, SOL_SOCKET, SO_ERROR, &error, &n);
	if (error == 0)
		return 0;
	(void)err_set(e, error == ETIMEDOUT ? ERR_TIMEOUT : ERR_CONFLICT, "port %u: %s", port,
		      error == ETIMEDOUT ? "the server does not take connections"
					 : "nothing listens there");
	return err_detail(e, "port_closed");
}

/* He may still be sending what nobody wants: a close would take our answer from him. */
static void linger(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint64_t until = loop_now_ms() + LINGER_MS;
	char sink[16384];

	(void)shutdown(fd, SHUT_WR); /* or he is gone */
	for (uint64_t now = loop_now_ms(); now < until; now = loop_now_ms())
		if (poll(&p, 1, (int)(until - now)) <= 0 || recv(fd, sink, sizeof(sink), 0) <= 0)
			return;
}

static bool is_unix(int fd)
{
	int domain = 0;
	socklen_t n = sizeof(domain);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) == 0 && domain == AF_UNIX;
}

int proxy_run(struct taken *client, int inside, const struct proxy_target *to, int cancel,
	      struct err *e)
{
	auto_free struct proxy *p = calloc(1, sizeof(*p));
	int r = p ? await_connection(inside, to->port, cancel, e) : err_sys(e, "proxy");
	const struct linger reset = {.l_onoff = 1};
	int on = 1;

	if (r < 0)
		return r;
	p->client = client;
	p->to = to;
	p->ask.from = p->answer.to = client->fd;
	p->ask.to = p->answer.from = inside;
	p->may_half = is_unix(client->fd);
	http_head_init(&p->head);
	/* In a tunnel nobody need ever say anything again. */
	(void)setsockopt(client->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	r = begin(p, e);
	if (r >= 0)
		r = run(p, cancel, e);
	if (r < 0 && !p->told)
		return r;
	if (r < 0) /* not to be taken for its end */
		(void)setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	else
		linger(client->fd);
	return 0;
}
