/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2 of a client as HTTP/1.1: a client of nghttp2's, lanes that are buffers. */
#include <nghttp2/nghttp2.h>
#include <stdbool.h>

#include "egress/h2.h"
#include "tap.h"

#define LANES 8
#define CHUNKED "POST /p HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n"

struct scene {
	struct h2 *h;
	struct stage_io io, lanes[LANES];
	unsigned n_lanes, n_moved, n_whole, n_broken;
	bool is_full, never;
	enum stage_next next;
	nghttp2_session *client;
	size_t piece;	   /* bytes that go at a time; 0: all */
	char answer[4096]; /* of all streams: fields, bodies, ends */
	const char *body;  /* of the next request; NULL: none */
	size_t body_left;
};

static struct stage_io *open_lane(void *arg, bool *ret_never)
{
	struct scene *s = arg;

	*ret_never = s->never;
	return s->is_full || s->never ? NULL : &s->lanes[s->n_lanes++];
}

static void moved(void *arg, struct stage_io *lane)
{
	(void)lane;
	((struct scene *)arg)->n_moved++;
}

static void close_lane(void *arg, struct stage_io *lane, bool is_whole)
{
	struct scene *s = arg;

	(void)lane;
	s->n_whole += is_whole;
	s->n_broken += !is_whole;
}

static void note(struct scene *s, const char *text, size_t len)
{
	size_t at = strlen(s->answer);

	if (at + len < sizeof(s->answer))
		memcpy(s->answer + at, text, len);
}

static int on_header(nghttp2_session *c, const nghttp2_frame *f, const uint8_t *name,
		     size_t name_len, const uint8_t *value, size_t len, uint8_t flags, void *arg)
{
	(void)c;
	(void)f;
	(void)flags;
	note(arg, (const char *)name, name_len);
	note(arg, "=", 1);
	note(arg, (const char *)value, len);
	note(arg, "|", 1);
	return 0;
}

static int on_data(nghttp2_session *c, uint8_t flags, int32_t id, const uint8_t *data, size_t len,
		   void *arg)
{
	(void)c;
	(void)flags;
	(void)id;
	note(arg, (const char *)data, len);
	return 0;
}

static int on_close(nghttp2_session *c, int32_t id, uint32_t code, void *arg)
{
	char text[32];

	(void)c;
	note(arg, text, (size_t)snprintf(text, sizeof(text), "[%d:%u]", id, code));
	return 0;
}

static void scene_init(struct scene *s)
{
	static const struct h2_ops ops = {open_lane, moved, close_lane};
	nghttp2_session_callbacks *on;

	memset(s, 0, sizeof(*s));
	s->h = h2_new(&ops, s);
	nghttp2_session_callbacks_new(&on);
	nghttp2_session_callbacks_set_on_header_callback(on, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(on, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(on, on_close);
	nghttp2_session_client_new(&s->client, on, s);
	nghttp2_session_callbacks_del(on);
	nghttp2_submit_settings(s->client, 0, NULL, 0);
}

static void scene_done(struct scene *s)
{
	h2_free(s->h);
	nghttp2_session_del(s->client);
	for (unsigned i = 0; i < LANES; i++) {
		stage_buf_done(&s->lanes[i].from_client);
		stage_buf_done(&s->lanes[i].to_client);
	}
	stage_buf_done(&s->io.from_client);
	stage_buf_done(&s->io.to_client);
}

static bool hear(struct scene *s)
{
	struct stage_buf *b = &s->io.to_client;
	size_t n = s->piece && s->piece < b->len ? s->piece : b->len;

	if (n == 0)
		return false;
	nghttp2_session_mem_recv(s->client, (const uint8_t *)b->data + b->start, n);
	stage_took(b, n);
	return true;
}

static void play(struct scene *s)
{
	const uint8_t *data;
	ssize_t n;

	for (bool more = true; more;) {
		n = STAGE_BUF_MAX - s->io.from_client.len > 20000
			    ? nghttp2_session_mem_send(s->client, &data)
			    : 0;
		more = n > 0;
		for (ssize_t at = 0, k = 0; at < n; at += k) {
			k = s->piece && (ssize_t)s->piece < n - at ? (ssize_t)s->piece : n - at;
			if (stage_put(&s->io.from_client, data + at, (size_t)k) < 0)
				abort();
			if (s->piece)
				s->next = h2_run(s->h, &s->io);
		}
		s->next = h2_run(s->h, &s->io);
		more |= hear(s);
	}
}

static ssize_t read_body(nghttp2_session *c, int32_t id, uint8_t *buf, size_t size, uint32_t *flags,
			 nghttp2_data_source *src, void *arg)
{
	struct scene *s = arg;
	size_t n = s->body_left < size ? s->body_left : size;

	(void)c;
	(void)id;
	(void)src;
	memset(buf, 'x', n);
	if (s->body && s->body_left == strlen(s->body))
		memcpy(buf, s->body, n);
	s->body_left -= n;
	if (s->body_left == 0)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)n;
}

#define NV(n, v)                                                                                   \
	{                                                                                          \
		(uint8_t *)(uintptr_t)(n), (uint8_t *)(uintptr_t)(v), strlen(n), strlen(v), 0      \
	}

/* One more field where `name` is one. `size`: bytes of the body, which begins with s->body. */
static void ask(struct scene *s, const char *method, const char *path, const char *name,
		const char *value, size_t size)
{
	nghttp2_nv nv[] = {NV(":method", method), NV(":scheme", "https"), NV(":path", path),
			   NV(":authority", "api.test"), NV(name ? name : "", value ? value : "")};
	nghttp2_data_provider body = {.read_callback = read_body};

	s->body_left = size;
	nghttp2_submit_request(s->client, NULL, nv, name ? 5 : 4, size ? &body : NULL, NULL);
	play(s);
}

static void says(struct scene *s, unsigned lane, const char *text)
{
	if (stage_put(&s->lanes[lane].to_client, text, strlen(text)) < 0)
		abort();
	play(s);
}

static const char *lane_has(struct scene *s, unsigned lane)
{
	static char text[4096];
	struct stage_buf *b = &s->lanes[lane].from_client;
	size_t n = b->len < sizeof(text) - 1 ? b->len : sizeof(text) - 1;

	memcpy(text, b->len ? b->data + b->start : "", n);
	text[n] = '\0';
	if (b->len)
		stage_took(b, b->len);
	return text;
}

static void exchange(size_t piece)
{
	struct scene s;

	scene_init(&s);
	s.piece = piece;
	ask(&s, "GET", "/a?b=c", "x-up", "1", 0);
	is_str(lane_has(&s, 0), "GET /a?b=c HTTP/1.1\r\nHost: api.test\r\nx-up: 1\r\n\r\n",
	       "a request");
	says(&s, 0,
	     "HTTP/1.1 200 OK\r\nX-Down: 2\r\nContent-Length: 5\r\nConnection: keep-alive\r\n"
	     "Keep-Alive: 5\r\n\r\nhe");
	says(&s, 0, "llo");
	is_str(s.answer, ":status=200|x-down=2|content-length=5|hello[1:0]", "and its answer");
	is_int(s.n_whole, 1, "the lane takes another");
	s.body = "abc";
	ask(&s, "POST", "/p", "content-length", "3", 3);
	is_str(lane_has(&s, 1),
	       "POST /p HTTP/1.1\r\nHost: api.test\r\ncontent-length: 3\r\n\r\nabc",
	       "a body of a length");
	ask(&s, "POST", "/p", NULL, NULL, 3);
	is_str(lane_has(&s, 2),
	       piece ? CHUNKED "1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\n\r\n"
		     : CHUNKED "3\r\nabc\r\n0\r\n\r\n",
	       "one without");
	ask(&s, "POST", "/p", NULL, NULL, 0);
	is_str(lane_has(&s, 3), "POST /p HTTP/1.1\r\nHost: api.test\r\nContent-Length: 0\r\n\r\n",
	       "and none");
	ask(&s, "HEAD", "/h", NULL, NULL, 0);
	memset(s.answer, 0, sizeof(s.answer));
	says(&s, 4, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
	is_str(s.answer, ":status=100|:status=200|content-length=5|[9:0]",
	       "an answer to HEAD has no body");
	memset(s.answer, 0, sizeof(s.answer));
	says(&s, 2,
	     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n");
	is_str(s.answer, ":status=200|abc[5:0]", "chunks");
	is_int(h2_streams(s.h), 2, "two are left");
	scene_done(&s);
	is_int(s.n_broken, 2, "which end with the connection");
}

static void exchanges(void)
{
	exchange(0);
	exchange(1);
}

static void lost(void)
{
	struct scene s;

	scene_init(&s);
	ask(&s, "GET", "/", NULL, NULL, 0);
	h2_lost(s.h, &s.lanes[0]);
	play(&s);
	ok(strstr(s.answer, ":status=502") && strstr(s.answer, "[1:0]"),
	   "a lane without an answer");
	ask(&s, "GET", "/", NULL, NULL, 0);
	memset(s.answer, 0, sizeof(s.answer));
	says(&s, 1, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe");
	h2_lost(s.h, &s.lanes[1]);
	play(&s);
	is_str(s.answer, ":status=200|content-length=5|he[3:2]", "half of one is shown to be half");
	ask(&s, "GET", "/", NULL, NULL, 0);
	memset(s.answer, 0, sizeof(s.answer));
	says(&s, 2, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello");
	is_str(s.answer, "[5:2]", "one that makes no sense is none");
	is_int(s.n_whole, 0, "none of these lanes is used again");
	scene_done(&s);
}

static void full(void)
{
	struct scene s;

	scene_init(&s);
	s.is_full = true;
	ask(&s, "GET", "/later", NULL, NULL, 0);
	is_int(s.n_lanes, 0, "a stream waits for a lane");
	s.is_full = false;
	play(&s);
	ok(strstr(lane_has(&s, 0), "/later"), "and has it when there is one");
	s.never = true;
	ask(&s, "GET", "/never", NULL, NULL, 0);
	ok(strstr(s.answer, ":status=503"), "or an answer when there will be none");
	scene_done(&s);
}

/* A lane that takes nothing holds its client up, and nobody else. */
static void pressure(void)
{
	struct scene s;
	const size_t all = 1 << 20;

	scene_init(&s);
	ask(&s, "POST", "/slow", NULL, NULL, all);
	size_t sent = all - s.body_left;
	ok(sent > STAGE_BUF_MAX / 2 && sent <= 2 * STAGE_BUF_MAX, "bytes wait at the client");
	diag("%zu of %zu were sent", sent, all);
	size_t left = s.body_left;
	ask(&s, "GET", "/fast", NULL, NULL, 0);
	s.body_left = left;
	ok(strstr(lane_has(&s, 1), "/fast"), "another stream goes on");
	for (int i = 0; i < 200 && s.body_left; i++) {
		(void)lane_has(&s, 0);
		play(&s);
	}
	is_int((long)s.body_left, 0, "and all of it comes when it is taken");
	scene_done(&s);
}

/* An answer before all was asked: the rest is not for the next request. */
static void early(void)
{
	struct scene s;

	scene_init(&s);
	ask(&s, "POST", "/", NULL, NULL, 8 << 20);
	says(&s, 0, "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
	ok(strstr(s.answer, ":status=403|content-length=2|no"), "an early answer");
	for (int i = 0; i < 100 && h2_streams(s.h); i++)
		play(&s);
	ok(strstr(s.answer, "[1:0]") && s.body_left > 1 << 20,
	   "the rest is dropped, and not for ever");
	is_int(s.n_broken, 1, "and its lane has seen half of a request");
	scene_done(&s);
}

int main(void)
{
	TAP_RUN(exchanges);
	TAP_RUN(lost);
	TAP_RUN(full);
	TAP_RUN(pressure);
	TAP_RUN(early);
	return tap_done();
}
