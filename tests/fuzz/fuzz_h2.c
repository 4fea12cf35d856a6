/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as frames of a client. Held to what egress/h2.h promises, by the reader that judges:
 *	- of one stream a lane has one request, or less; never more, whatever its fields and lengths say;
 *	- what is in the buffers stays within them;
 *	- who is heard in one piece is heard in many.
 * And as frames of a server (egress/h2_up.h): to one request there is one answer, or less; what reads
 * it finds nothing behind it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "egress/h2.h"
#include "egress/h2_up.h"
#include "http/body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define NEED(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);                 \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#define LANES 64
#define ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

struct scene {
	struct stage_io io, lanes[LANES];
	unsigned n;
};

static struct stage_io *open_lane(void *arg, bool *ret_never)
{
	struct scene *s = arg;

	*ret_never = s->n == LANES;
	return s->n == LANES ? NULL : &s->lanes[s->n++];
}

static void moved(void *arg, struct stage_io *lane)
{
	(void)arg;
	NEED(lane->from_client.len <= STAGE_BUF_MAX);
}

static void close_lane(void *arg, struct stage_io *lane, bool is_whole)
{
	(void)arg;
	(void)lane;
	(void)is_whole;
}

/* One request at most: behind it there is nothing. */
static void judge(const struct stage_buf *b)
{
	const char *at = b->len ? b->data + b->start : "", *slice;
	struct http_head h;
	struct http_body body;
	struct http_error e;
	size_t left = b->len, used = 0, len = 0;
	int r = 0;

	http_head_init(&h);
	int n = http_head_parse(&h, at, left, HTTP_REQUEST, &e);
	if (n <= 0 || http_body_of_request(&body, &h, UINT64_MAX, &e) < 0)
		return; /* the judge refuses it, and reads no further */
	at += n;
	left -= (size_t)n;
	do {
		r = http_body_feed(&body, left ? at : "", left, &used, &slice, &len, &e);
		NEED(r >= 0);
		at += used;
		left -= used;
	} while (r == 0 && left && used);
	NEED(left == 0);
}

static void play(const uint8_t *data, size_t len, size_t piece, struct scene *s)
{
	static const struct h2_ops ops = {open_lane, moved, close_lane};
	struct h2 *h = h2_new(&ops, s);

	for (size_t at = 0, n; h && at < len; at += n) {
		n = piece < len - at ? piece : len - at;
		if (stage_put(&s->io.from_client, data + at, n) < 0 ||
		    h2_run(h, &s->io) > STAGE_SERVER)
			break;
		stage_buf_done(&s->io.to_client);
	}
	for (unsigned i = 0; i < s->n; i++) {
		judge(&s->lanes[i].from_client);
		(void)stage_put(&s->lanes[i].to_client, ANSWER, sizeof(ANSWER) - 1);
	}
	if (h)
		(void)h2_run(h, &s->io);
	NEED(!h || h2_streams(h) <= H2_STREAMS_MAX);
	h2_free(h);
	for (unsigned i = 0; i < LANES; i++) {
		stage_buf_done(&s->lanes[i].from_client);
		stage_buf_done(&s->lanes[i].to_client);
	}
	stage_buf_done(&s->io.from_client);
	stage_buf_done(&s->io.to_client);
}

/* The last of the heads, and its body. */
static void judge_answer(const struct stage_buf *b)
{
	const char *at = b->len ? b->data + b->start : "", *slice;
	struct http_head h;
	struct http_body body;
	struct http_error e;
	size_t left = b->len, used = 0, len = 0;
	int n, r = 0;

	do {
		http_head_init(&h);
		n = http_head_parse(&h, at, left, HTTP_RESPONSE, &e);
		if (n <= 0)
			return; /* the reader refuses it, and reads no further */
		at += n;
		left -= (size_t)n;
	} while (h.status < 200);
	if (http_body_of_response(&body, &h, HTTP_GET, UINT64_MAX, &e) < 0)
		return;
	do {
		r = http_body_feed(&body, left ? at : "", left, &used, &slice, &len, &e);
		NEED(r >= 0);
		at += used;
		left -= used;
	} while (r == 0 && left && used);
	NEED(left == 0 && body.kind != HTTP_BODY_TO_END);
}

static void play_server(const uint8_t *data, size_t len, size_t piece)
{
	static const char ask[] = "GET / HTTP/1.1\r\nHost: good.test\r\n\r\n";
	struct stage_buf asked = {0}, answered = {0}, in = {0}, out = {0};
	const struct h2_up_io io = {&asked, &answered, &in, &out};
	struct h2_up *h = h2_up_new();

	NEED(h && stage_put(&asked, ask, sizeof(ask) - 1) == 0);
	bool more = h2_up_run(h, &io);
	for (size_t at = 0, n; more && at < len; at += n) {
		n = piece < len - at ? piece : len - at;
		if (stage_put(&in, data + at, n) < 0)
			break;
		more = h2_up_run(h, &io);
		stage_buf_done(&out);
	}
	judge_answer(&answered);
	h2_up_free(h);
	stage_buf_done(&asked);
	stage_buf_done(&answered);
	stage_buf_done(&in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct scene whole, cut;

	if (len == 0 || len > STAGE_BUF_MAX / 2)
		return 0;
	memset(&whole, 0, sizeof(whole));
	memset(&cut, 0, sizeof(cut));
	play(data, len, len, &whole);
	play(data, len, 3, &cut);
	play_server(data, len, len);
	play_server(data, len, 3);
	NEED(whole.n == 0 || cut.n > 0 || whole.n == LANES);
	return 0;
}
