/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/stream.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define HEAD_SIZE 8
#define ERROR_TEXT_MAX 600
#define NO_ROOM "disk" /* the detail of such errors */

void stream_init(struct stream *s, int fd, int idle_ms)
{
	*s = (struct stream){.fd = fd, .idle_ms = idle_ms};
	buf_init(&s->in, STREAM_MAX);
}

void stream_done(struct stream *s)
{
	buf_done(&s->in);
}

/* 0: ready, or something else has happened. */
static int wait_for(struct stream *s, short events, struct err *e)
{
	struct pollfd pfd = {.fd = s->fd, .events = events};
	int n;

	do
		n = poll(&pfd, 1, s->idle_ms ? s->idle_ms : -1);
	while (n < 0 && errno == EINTR);
	if (n == 0)
		return err_set(e, ERR_TIMEOUT, "the other side has not moved for %d ms",
			       s->idle_ms);
	return n < 0 ? err_sys(e, "wait for the other side") : 0;
}

static int cut_off(struct err *e)
{
	(void)err_set(e, ERR_INTERNAL, "the other side is gone");
	return err_remedy(e, "start it again: what has arrived is not sent twice");
}

static int receive(struct stream *s, void *to, size_t len, struct err *e)
{
	uint8_t *at = to;

	while (len > 0) {
		ssize_t n = recv(s->fd, at, len, MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			int r = wait_for(s, POLLIN, e);
			if (r < 0)
				return r;
			continue;
		}
		if (n < 0 && errno != ECONNRESET)
			return err_sys(e, "receive");
		if (n <= 0)
			return cut_off(e);
		s->received += (uint64_t)n;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

static int receive_message(struct stream *s, uint8_t *ret_type, struct err *e)
{
	uint8_t head[HEAD_SIZE];
	int r = receive(s, head, sizeof(head), e);

	if (r < 0)
		return r;
	struct cursor c = cursor_of(head, sizeof(head));
	uint32_t len = cursor_u32(&c);
	*ret_type = cursor_u8(&c);
	if (len > STREAM_MAX || head[5] || head[6] || head[7])
		return err_set(e, ERR_INVALID, "the other side does not speak this protocol");
	s->in.len = 0;
	uint8_t *to = len ? buf_room(&s->in, len) : NULL;
	if (len && !to) {
		errno = ENOMEM;
		return err_sys(e, "receive");
	}
	return len ? receive(s, to, len, e) : 0;
}

/* What the peer says is shown to people, and the peer is not trusted. */
static int take_error(const struct stream *s, struct err *e)
{
	struct cursor c = cursor_of(s->in.data, s->in.len);
	char text[ERROR_TEXT_MAX];
	uint16_t word = cursor_u16(&c), kind = word & 0xff;
	size_t len = cursor_left(&c) < sizeof(text) ? cursor_left(&c) : sizeof(text) - 1;

	cursor_copy(&c, text, len);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || (unsigned char)text[i] > '~')
			text[i] = '?';
	(void)err_set(e, kind < ERR_KINDS ? (enum err_kind)kind : ERR_INTERNAL,
		      "the other side gave up: %.*s", (int)len, text);
	return err_detail(e, word >> 8 == 1 ? NO_ROOM : "");
}

int stream_expect(struct stream *s, enum stream_type type, struct cursor *ret, struct err *e)
{
	uint8_t got = 0;
	int r = receive_message(s, &got, e);

	if (r < 0)
		return r;
	if (got == STREAM_ERROR)
		return take_error(s, e);
	if (got != type)
		return err_set(e, ERR_INVALID, "the other side sent a message out of turn (%u)",
			       got);
	*ret = cursor_of(s->in.data, s->in.len);
	return 0;
}

int stream_heard(struct stream *s, struct err *e)
{
	struct pollfd pfd = {.fd = s->fd, .events = POLLIN};
	struct cursor c;

	if (poll(&pfd, 1, 0) <= 0 || !(pfd.revents & POLLIN))
		return 0;
	/* Its end of file, an error, or something that is not its turn: each is an error here. */
	int r = stream_expect(s, STREAM_ERROR, &c, e);
	assert(r < 0);
	return r;
}

/* The peer closed while we were sending: it may have said why. */
static int broken(struct stream *s, struct err *e)
{
	struct err why = ERR_INIT;

	(void)cut_off(e);
	if (stream_heard(s, &why) < 0)
		*e = why;
	return err_wrap(e, "sync");
}

static int send_iov(struct stream *s, struct iovec *iov, int n, struct err *e)
{
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = (size_t)n};

	while (msg.msg_iovlen > 0) {
		if (msg.msg_iov->iov_len == 0) {
			msg.msg_iov++;
			msg.msg_iovlen--;
			continue;
		}
		ssize_t sent = sendmsg(s->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && errno == EAGAIN) {
			/* Nobody has to say anything while we send, unless it gives up. */
			int r = wait_for(s, POLLOUT | POLLIN, e);
			if (r == 0)
				r = stream_heard(s, e);
			if (r < 0)
				return r;
			continue;
		}
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return errno == EPIPE || errno == ECONNRESET ? broken(s, e)
								     : err_sys(e, "send");
		s->sent += (uint64_t)sent;
		for (size_t left = (size_t)sent; left > 0;) {
			size_t part = left < msg.msg_iov->iov_len ? left : msg.msg_iov->iov_len;

			msg.msg_iov->iov_base = (char *)msg.msg_iov->iov_base + part;
			msg.msg_iov->iov_len -= part;
			left -= part;
			if (msg.msg_iov->iov_len == 0) {
				msg.msg_iov++;
				msg.msg_iovlen--;
			}
		}
	}
	return 0;
}

int stream_send(struct stream *s, enum stream_type type, const struct buf *head,
		const struct buf *body, struct err *e)
{
	size_t len = head->len + (body ? body->len : 0);
	uint8_t start[HEAD_SIZE] = {(uint8_t)len, (uint8_t)(len >> 8), (uint8_t)(len >> 16),
				    (uint8_t)(len >> 24), (uint8_t)type};
	struct iovec iov[3] = {
		{start, sizeof(start)},
		{head->data, head->len},
		{body ? body->data : NULL, body ? body->len : 0},
	};

	if (head->error || (body && body->error)) {
		errno = head->error ? -head->error : -body->error;
		return err_sys(e, "send");
	}
	if (len > STREAM_MAX)
		return err_set(e, ERR_LIMIT, "a message of %zu bytes", len);
	return send_iov(s, iov, 3, e);
}

void stream_give_up(struct stream *s, const struct err *why)
{
	auto_buf struct buf text = {0};
	struct err ignored = ERR_INIT;

	buf_init(&text, ERROR_TEXT_MAX + 2);
	buf_u16(&text, (uint16_t)(why->kind | (strcmp(why->detail, NO_ROOM) == 0 ? 1 << 8 : 0)));
	buf_add(&text, why->text, strnlen(why->text, ERROR_TEXT_MAX));
	/* A peer that does not read is not waited for: it finds out by the end of the stream. */
	s->idle_ms = 1;
	(void)stream_send(s, STREAM_ERROR, &text, NULL, &ignored);
}
