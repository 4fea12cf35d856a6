/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a connection: requests one after the other, responses, and frames of a WebSocket.
 * Held to what http/ promises:
 *	- the answer does not depend on where reads cut the bytes;
 *	- slices lie within the buffer, and nothing is read behind it (a sanitizer's part);
 *	- a head that was accepted means the same when it is written anew and read again.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/accept.h"
#include "http/body.h"
#include "http/range.h"
#include "http/target.h"
#include "http/websocket.h"
#include "http/write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define NEED(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);                 \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* What a reader saw, as a number: messages, payload, refusals, in their order. */
static uint64_t seen;

static void see(const void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		seen = (seen ^ ((const uint8_t *)p)[i]) * UINT64_C(0x100000001b3);
}

static void see_number(uint64_t n)
{
	see(&n, sizeof(n));
}

static void within(const char *p, size_t n, const char *buf, size_t len)
{
	NEED(!p || (p >= buf && n <= len && p + n <= buf + len));
}

static void check_slices(const struct http_head *h, const char *buf, size_t len)
{
	within(h->method_text, h->method_len, buf, len);
	within(h->target, h->target_len, buf, len);
	within(h->reason, h->reason_len, buf, len);
	within(h->host, h->host_len, buf, len);
	within(h->upgrade, h->upgrade_len, buf, len);
	within(h->where.name, h->where.name_len, buf, len);
	for (unsigned i = 0; i < h->n_fields; i++) {
		within(h->fields[i].name, h->fields[i].name_len, buf, len);
		within(h->fields[i].value, h->fields[i].value_len, buf, len);
	}
}

static bool same_slice(const char *a, size_t a_len, const char *b, size_t b_len)
{
	return a_len == b_len && (a_len == 0 || memcmp(a, b, a_len) == 0);
}

/* Written by us, read by us: the same message. */
static void check_written(const struct http_head *h, enum http_side side)
{
	static char out[2 * HTTP_HEAD_MAX];
	char method[HTTP_METHOD_MAX + 1];
	struct http_error e = {0};
	struct http_head again;
	struct http_out o;

	http_out_init(&o, out, sizeof(out));
	if (side == HTTP_REQUEST) {
		snprintf(method, sizeof(method), "%.*s", (int)h->method_len, h->method_text);
		http_out_request(&o, method, h->target, h->target_len);
	} else {
		http_out_status(&o, h->status);
	}
	for (unsigned i = 0; i < h->n_fields; i++)
		http_out_copy(&o, &h->fields[i]);
	int len = http_out_end(&o);
	NEED(len > 0);
	if (len > HTTP_HEAD_MAX || h->minor == 0) /* it became 1.1, where other things are asked */
		return;
	http_head_init(&again);
	NEED(http_head_parse(&again, out, (size_t)len, side, &e) == len);
	NEED(again.method == h->method && again.form == h->form && again.status == h->status);
	NEED(again.content_length == h->content_length && again.chunked == h->chunked);
	NEED(again.keep_alive == h->keep_alive && again.expect_continue == h->expect_continue);
	NEED(again.n_fields == h->n_fields && !again.upgrade == !h->upgrade);
	NEED(same_slice(again.host, again.host_len, h->host, h->host_len));
	for (unsigned i = 0; i < h->n_fields; i++)
		NEED(same_slice(again.fields[i].value, again.fields[i].value_len,
				h->fields[i].value, h->fields[i].value_len));
}

/* Whatever else looks at a request. */
static void look_around(const struct http_head *h)
{
	const struct http_field *range = http_head_field(h, "range");
	struct http_path_args args;
	struct http_target t;
	struct http_query q;
	struct http_param param;
	struct http_part part;
	struct http_error e = {0};
	char text[256], accept[WS_ACCEPT_SIZE];

	http_target_split(h, &t);
	see_number((uint64_t)http_path_match("/v1/{a}/files/{b}", t.path, t.path_len, &args));
	http_query_init(&q, &t);
	while (http_query_next(&q, &param)) {
		(void)http_decode(param.name, param.name_len, true, text, sizeof(text));
		if (param.value)
			(void)http_decode(param.value, param.value_len, true, text, sizeof(text));
	}
	if (range &&
	    http_range_parse(range->value, range->value_len, 100, &part) == HTTP_RANGE_PART)
		NEED(part.first <= part.last && part.last < 100);
	see_number(http_accept_coding(h));
	see_number(http_accepts(h, "text/event-stream"));
	see_number((uint64_t)ws_handshake(h, accept, &e));
}

struct conn {
	enum http_side side;
	struct http_head head;
	struct http_body body;
	bool in_body;
	size_t start;
};

static int take_head(struct conn *c, const char *buf, size_t len, struct http_error *e)
{
	int r = http_head_parse(&c->head, buf + c->start, len - c->start, c->side, e);

	if (r <= 0)
		return r;
	NEED((size_t)r <= len - c->start && r <= HTTP_HEAD_MAX);
	check_slices(&c->head, buf + c->start, (size_t)r);
	check_written(&c->head, c->side);
	if (c->side == HTTP_REQUEST)
		look_around(&c->head);
	see_number((uint64_t)r);
	see_number(c->head.n_fields);
	c->start += (size_t)r;
	c->in_body = true;
	r = c->side == HTTP_REQUEST
		    ? http_body_of_request(&c->body, &c->head, 1u << 16, e)
		    : http_body_of_response(&c->body, &c->head, HTTP_GET, 1u << 16, e);
	return r < 0 ? r : 1;
}

/* 1: go on, 0: more is needed, < 0: refused. */
static int step(struct conn *c, const char *buf, size_t len, struct http_error *e)
{
	const char *data = NULL;
	size_t used = 0, n = 0;
	int r = c->in_body ? 1 : take_head(c, buf, len, e);

	if (r <= 0)
		return r;
	r = http_body_feed(&c->body, buf + c->start, len - c->start, &used, &data, &n, e);
	if (r < 0)
		return r;
	NEED(used <= len - c->start && n <= used && (used > 0 || c->start == len || r > 0));
	within(data, n, buf + c->start, used);
	see(data, n);
	c->start += used;
	if (r > 0) {
		c->in_body = false;
		http_head_init(&c->head);
		see_number(c->body.bytes);
	}
	return r > 0 || used > 0;
}

static uint64_t read_stream(const char *text, size_t len, enum http_side side, size_t by)
{
	static struct conn c; /* large, and each is new */
	struct http_error e = {0};
	int r = 0;

	memset(&c, 0, sizeof(c));
	c.side = side;
	http_head_init(&c.head);
	seen = 1;
	for (size_t n = by < len ? by : len;; n = n + by < len ? n + by : len) {
		while ((r = step(&c, text, n, &e)) > 0)
			;
		if (r < 0 || n == len)
			break;
	}
	see_number(r < 0 ? e.status : 0);
	see_number((uint64_t)(uintptr_t)(r < 0 ? e.why : NULL));
	return seen;
}

static uint64_t read_frames(const uint8_t *data, size_t len, size_t by)
{
	struct http_error e = {0};
	struct ws w;
	int r = 0;

	ws_init(&w, 1u << 16);
	seen = 1;
	for (size_t at = 0; at < len && r >= 0; at += by) {
		size_t n = len - at < by ? len - at : by, done = 0;
		char *in = malloc(n);

		NEED(in);
		memcpy(in, data + at, n);
		for (r = 0; done < n && r >= 0;) {
			struct ws_event ev = {0};
			size_t used = 0;

			r = ws_feed(&w, in + done, n - done, &used, &ev, &e);
			NEED(r < 0 || used > 0);
			done += used;
			if (r > 0 && (ev.op >= WS_CLOSE || ev.is_last))
				see_number(ev.op);
		}
		free(in);
	}
	see_number(r < 0 ? e.status : 0);
	return seen;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const size_t steps[] = {1, 2, 7, 64};
	char *text = malloc(len ? len : 1);

	NEED(text);
	memcpy(text, data, len);
	for (int side = HTTP_REQUEST; side <= HTTP_RESPONSE; side++) {
		uint64_t whole = read_stream(text, len, (enum http_side)side, len ? len : 1);

		for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
			NEED(read_stream(text, len, (enum http_side)side, steps[i]) == whole);
	}
	uint64_t whole = read_frames(data, len, len ? len : 1);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		NEED(read_frames(data, len, steps[i]) == whole);
	free(text);
	return 0;
}
