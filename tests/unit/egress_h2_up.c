/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2 of a server as HTTP/1.1: a server of nghttp2's at the other end. */
#include <nghttp2/nghttp2.h>
#include <stdbool.h>

#include "egress/h2.h"
#include "egress/h2_up.h"
#include "tap.h"

#define GET "GET /a?b HTTP/1.1\r\nHost: api.test\r\nX-Key: k\r\nConnection: close\r\n\r\n"
#define CHUNKED "HTTP/1.1 200 OK\r\nx-a: b\r\nTransfer-Encoding: chunked\r\n\r\n"
#define NV(n, v)                                                                                   \
	{                                                                                          \
		(uint8_t *)(uintptr_t)(n), (uint8_t *)(uintptr_t)(v), strlen(n), strlen(v), 0      \
	}

struct scene {
	struct h2_up *h;
	struct stage_buf asked, answered, in, out;
	nghttp2_session *server;
	bool goes_on;
	size_t piece;	 /* bytes that go at a time; 0: all */
	char seen[1024]; /* by the server */
	int32_t id;
	size_t body_left, body_bytes; /* of the answer, of the request */
};

static void note(struct scene *s, const char *text, size_t len)
{
	size_t at = strlen(s->seen);

	if (at + len < sizeof(s->seen))
		memcpy(s->seen + at, text, len);
}

static int on_header(nghttp2_session *c, const nghttp2_frame *f, const uint8_t *name,
		     size_t name_len, const uint8_t *value, size_t len, uint8_t flags, void *arg)
{
	struct scene *s = arg;

	(void)c;
	note(s, (const char *)name, name_len);
	note(s, "=", 1);
	note(s, (const char *)value, len);
	note(s, flags & NGHTTP2_NV_FLAG_NO_INDEX ? "!" : "|", 1);
	s->id = f->hd.stream_id;
	return 0;
}

static int on_data(nghttp2_session *c, uint8_t flags, int32_t id, const uint8_t *data, size_t len,
		   void *arg)
{
	(void)c;
	(void)flags;
	(void)id;
	(void)data;
	((struct scene *)arg)->body_bytes += len;
	return 0;
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
	s->body_left -= n;
	if (s->body_left == 0)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)n;
}

static void scene_init(struct scene *s, size_t piece)
{
	nghttp2_session_callbacks *on;

	memset(s, 0, sizeof(*s));
	s->piece = piece;
	s->h = h2_up_new();
	nghttp2_session_callbacks_new(&on);
	nghttp2_session_callbacks_set_on_header_callback(on, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(on, on_data);
	nghttp2_session_server_new(&s->server, on, s);
	nghttp2_session_callbacks_del(on);
	nghttp2_submit_settings(s->server, 0, NULL, 0);
}

static void scene_done(struct scene *s)
{
	h2_up_free(s->h);
	nghttp2_session_del(s->server);
	stage_buf_done(&s->asked);
	stage_buf_done(&s->answered);
	stage_buf_done(&s->in);
	stage_buf_done(&s->out);
}

static void run(struct scene *s)
{
	const struct h2_up_io io = {&s->asked, &s->answered, &s->in, &s->out};

	s->goes_on = h2_up_run(s->h, &io);
}

/* Until nothing moves. */
static void play(struct scene *s)
{
	const uint8_t *data;

	for (bool more = true; more;) {
		more = false;
		run(s);
		if (s->out.len) {
			nghttp2_session_mem_recv(
				s->server, (const uint8_t *)s->out.data + s->out.start, s->out.len);
			stage_took(&s->out, s->out.len);
			more = true;
		}
		while (s->in.len < STAGE_BUF_MAX / 2) {
			ssize_t n = nghttp2_session_mem_send(s->server, &data);

			if (n <= 0)
				break;
			more = true;
			for (ssize_t at = 0, k = 0; at < n; at += k) {
				k = s->piece && (ssize_t)s->piece < n - at ? (ssize_t)s->piece
									   : n - at;
				if (stage_put(&s->in, data + at, (size_t)k) < 0)
					abort();
				if (s->piece)
					run(s);
			}
		}
	}
}

static void ask(struct scene *s, const char *text)
{
	s->seen[0] = '\0';
	memset(s->seen, 0, sizeof(s->seen));
	if (stage_put(&s->asked, text, strlen(text)) < 0)
		abort();
	play(s);
}

static void answer(struct scene *s, const char *status, const char *name, const char *value,
		   size_t body)
{
	nghttp2_nv nv[] = {NV(":status", status), NV(name, value)};
	nghttp2_data_provider from = {.read_callback = read_body};

	s->body_left = body;
	nghttp2_submit_response(s->server, s->id, nv, 2, body ? &from : NULL);
	play(s);
}

static void got(struct scene *s, const char *want, const char *name)
{
	char text[4096] = "";
	size_t n = s->answered.len < sizeof(text) ? s->answered.len : sizeof(text) - 1;

	if (n)
		memcpy(text, s->answered.data + s->answered.start, n);
	is_str(text, want, name);
	stage_buf_done(&s->answered);
}

static void exchanges(size_t piece)
{
	struct scene s;

	scene_init(&s, piece);
	ask(&s, GET);
	is_str(s.seen,
	       ":method=GET!:scheme=https!:authority=api.test!:path=/a?b!te=trailers!x-key=k!",
	       "a request, that nobody keeps in a table");
	ok(!h2_up_is_idle(s.h), "it waits for the answer");
	answer(&s, "200", "x-a", "b", 3);
	got(&s,
	    piece ? CHUNKED "1\r\nx\r\n1\r\nx\r\n1\r\nx\r\n0\r\n\r\n"
		  : CHUNKED "3\r\nxxx\r\n0\r\n\r\n",
	    "an answer without a length");
	ok(h2_up_is_idle(s.h) && s.goes_on, "and takes another");
	ask(&s, "POST / HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n"
		"2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n");
	ok(s.body_bytes == 5 && !strstr(s.seen, "transfer"), "a body in chunks is one");
	answer(&s, "201", "content-length", "2", 2);
	got(&s, "HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\nxx", "one with a length");
	ask(&s, "HEAD / HTTP/1.1\r\nHost: api.test\r\n\r\n");
	answer(&s, "200", "x-a", "b", 0);
	got(&s, "HTTP/1.1 200 OK\r\nx-a: b\r\n\r\n", "of HEAD no framing is made up");
	ask(&s, GET);
	answer(&s, "200", "x-a", "b", 0);
	got(&s, "HTTP/1.1 200 OK\r\nx-a: b\r\nContent-Length: 0\r\n\r\n", "one without a body");
	ok(h2_up_is_idle(s.h), "four, on one connection");
	scene_done(&s);
}

static ssize_t read_with_trailers(nghttp2_session *c, int32_t id, uint8_t *buf, size_t size,
				  uint32_t *flags, nghttp2_data_source *src, void *arg)
{
	ssize_t n = read_body(c, id, buf, size, flags, src, arg);
	nghttp2_nv nv[] = {NV("grpc-status", "7"), NV("x-t", "a b")};

	if (*flags & NGHTTP2_DATA_FLAG_EOF) {
		*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
		nghttp2_submit_trailer(c, id, nv, 2);
	}
	return n;
}

static void trailers(void)
{
	nghttp2_nv nv[] = {NV(":status", "200"), NV("x-a", "b")};
	nghttp2_data_provider from = {.read_callback = read_with_trailers};

	for (size_t piece = 0; piece < 2; piece++) {
		struct scene s;

		scene_init(&s, piece);
		ask(&s, "POST / HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n"
			"2\r\nab\r\n0\r\nDigest: c\r\n\r\n");
		ok(strstr(s.seen, "digest=c!") && s.body_bytes == 2, "behind a request");
		s.body_left = 1;
		nghttp2_submit_response(s.server, s.id, nv, 2, &from);
		play(&s);
		got(&s, CHUNKED "1\r\nx\r\n0\r\ngrpc-status: 7\r\nx-t: a b\r\n\r\n",
		    "behind an answer");
		ok(h2_up_is_idle(s.h), "and it takes another");
		ask(&s, GET);
		answer(&s, "200", "x-a", "b", 1);
		got(&s, CHUNKED "1\r\nx\r\n0\r\n\r\n", "which has none of them");
		scene_done(&s);
	}
}

static void whole(void)
{
	exchanges(0);
}

static void pieces(void)
{
	exchanges(1);
}

static void ends(void)
{
	struct scene s;

	scene_init(&s, 0);
	ask(&s, GET);
	nghttp2_submit_rst_stream(s.server, 0, s.id, NGHTTP2_REFUSED_STREAM);
	play(&s);
	ok(!s.goes_on && s.answered.len == 0, "a stream that is broken off: there is no answer");
	scene_done(&s);

	scene_init(&s, 0);
	ask(&s, GET);
	answer(&s, "200", "content-length", "9", 3);
	ok(!s.goes_on && !h2_up_is_idle(s.h), "a length that is not true ends it");
	scene_done(&s);

	scene_init(&s, 0);
	ask(&s, GET);
	answer(&s, "101", "x-a", "b", 0);
	ok(!s.goes_on && s.answered.len == 0, "101 is none");
	scene_done(&s);

	static const char *const odd[] = {"099", "000", "600", "999"};
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		scene_init(&s, 0);
		ask(&s, GET);
		answer(&s, odd[i], "x-a", "b", 3);
		ok(!s.goes_on && s.answered.len == 0, "a status that there is not");
		scene_done(&s);
	}

	scene_init(&s, 0);
	ask(&s, GET);
	answer(&s, "200", "x-a", "b", 3);
	nghttp2_submit_goaway(s.server, 0, s.id, 0, NULL, 0);
	play(&s);
	ok(!h2_up_is_idle(s.h) && s.answered.len > 0, "who says goodbye is asked nothing more");
	scene_done(&s);
}

/* A reader that does not read: the server is not read either. */
static void slow(void)
{
	struct scene s;
	size_t all = 0;

	scene_init(&s, 0);
	ask(&s, GET);
	answer(&s, "200", "content-length", "3000000", 3000000);
	ok(s.in.len > 0 && s.answered.len > STAGE_BUF_MAX / 2, "what nobody takes stays outside");
	while (s.answered.len) {
		all += s.answered.len;
		stage_buf_done(&s.answered);
		play(&s);
	}
	ok(all > 3000000 && all < 3000100 && h2_up_is_idle(s.h),
	   "and comes, whole, when it is wanted");
	scene_done(&s);
}

static void floods(void)
{
	struct scene s;

	scene_init(&s, 0);
	ask(&s, GET);
	for (unsigned i = 0; i < H2_IDLE_MAX + 10 && s.goes_on; i++) {
		nghttp2_submit_ping(s.server, 0, NULL);
		play(&s);
	}
	ok(!s.goes_on, "pings without end end it");
	scene_done(&s);
}

int main(void)
{
	TAP_RUN(whole);
	TAP_RUN(pieces);
	TAP_RUN(trailers);
	TAP_RUN(ends);
	TAP_RUN(slow);
	TAP_RUN(floods);
	return tap_done();
}
