/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections with several requests, as a server or a gate reads them: how many are there, and
 * which? Each of these has been two requests to one reader and one, or another, to the next. Here
 * it is what the RFC says, or the connection ends at the first byte in doubt.
 */
#include "http/body.h"
#include "http_help.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a.test\r\n\r\n"
#define POST(fields) "POST / HTTP/1.1\r\nHost: a.test\r\n" fields "\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n"

/* Append to the story. */
__attribute__((format(printf, 2, 3))) static void tell(char *story, const char *fmt, ...)
{
	size_t n = strlen(story);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(story + n, 512 - n, fmt, ap);
	va_end(ap);
}

struct conn {
	struct http_head head;
	struct http_body body;
	bool in_body, is_over;
	size_t start, payload;
};

/* Go on with what is there; false when more is needed or it is over. */
static bool step(struct conn *c, const char *buf, size_t len, char *story)
{
	struct http_error e = {0};
	const char *data;
	size_t used, got;
	int r;

	if (!c->in_body) {
		r = http_head_parse(&c->head, buf + c->start, len - c->start, HTTP_REQUEST, &e);
		if (r == 0)
			return false;
		if (r > 0)
			c->start += (size_t)r;
		if (r < 0 || http_body_of_request(&c->body, &c->head, 1000, &e) < 0)
			goto refused;
		tell(story, "%.*s %.*s ", (int)c->head.method_len, c->head.method_text,
		     (int)c->head.target_len, c->head.target);
		c->in_body = true;
		c->payload = 0;
	}
	r = http_body_feed(&c->body, buf + c->start, len - c->start, &used, &data, &got, &e);
	if (r < 0)
		goto refused;
	c->start += used;
	c->payload += got;
	if (r > 0) {
		tell(story, "%zu; ", c->payload);
		c->in_body = false;
		http_head_init(&c->head);
	}
	return r > 0 || used > 0;
refused:
	tell(story, "refused %u", e.status);
	c->is_over = true;
	return false;
}

static void read_stream(const char *text, size_t len, size_t by, char *story)
{
	char *buf = copy_of(text, len);
	struct conn c = {0};

	story[0] = '\0';
	http_head_init(&c.head);
	for (size_t n = by < len ? by : len; !c.is_over; n = n + by < len ? n + by : len) {
		while (step(&c, buf, n, story))
			;
		if (n == len)
			break;
	}
	if (!c.is_over && (c.in_body || c.start < len))
		tell(story, "waits");
	free(buf);
}

#define S(name, text, story)                                                                       \
	{                                                                                          \
		name, text, sizeof(text) - 1, story                                                \
	}
static const struct {
	const char *name, *text;
	size_t len;
	const char *story;
} streams[] = {
	S("two requests", GET("/a") GET("/b"), "GET /a 0; GET /b 0; "),
	S("a body, then a request", POST("Content-Length: 3\r\n") "abc" GET("/b"),
	  "POST / 3; GET /b 0; "),
	S("chunks, then a request", POST(CHUNKED) "3\r\nabc\r\n0\r\n\r\n" GET("/b"),
	  "POST / 3; GET /b 0; "),
	S("a body that looks like a request", POST("Content-Length: 33\r\n") GET("/a"),
	  "POST / 33; "),
	S("chunks that look like a request", POST(CHUNKED) "21\r\n" GET("/a") "\r\n0\r\n\r\n",
	  "POST / 33; "),
	S("trailers, then a request", POST(CHUNKED) "0\r\nA: b\r\n\r\n" GET("/b"),
	  "POST / 0; GET /b 0; "),
	S("CL.TE", POST("Content-Length: 6\r\n" CHUNKED) "0\r\n\r\nG", "refused 400"),
	S("TE.CL", POST(CHUNKED "Content-Length: 4\r\n") "5c\r\nGPOST", "refused 400"),
	S("CL.CL", POST("Content-Length: 0\r\nContent-Length: 33\r\n") GET("/b"), "refused 400"),
	S("CL, CL", POST("Content-Length: 0, 33\r\n") GET("/b"), "refused 400"),
	S("TE.TE", POST(CHUNKED "Transfer-Encoding: x\r\n") "0\r\n\r\n", "refused 400"),
	S("TE.0", POST("Transfer-Encoding: identity\r\n") "0\r\n\r\n", "refused 501"),
	S("0.CL", "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length : 36\r\n\r\n" GET("/b"),
	  "refused 400"),
	S("a length hidden by a CR", POST("X: y\rContent-Length: 33\r\n") GET("/b"), "refused 400"),
	S("a length hidden by a LF", POST("X: y\nContent-Length: 33\r\n") GET("/b"), "refused 400"),
	S("a length behind NUL", POST("X: y\0\r\nContent-Length: 33\r\n") GET("/b"), "refused 400"),
	S("a coding hidden by a fold", POST("X: y\r\n Transfer-Encoding: chunked\r\n") "0\r\n\r\n",
	  "refused 400"),
	S("a coding that Connection would drop", POST(CHUNKED "Connection: Transfer-Encoding\r\n"),
	  "refused 400"),
	S("a length that Connection would drop",
	  POST("Content-Length: 33\r\nConnection: close, Content-Length\r\n") GET("/b"),
	  "refused 400"),
	S("chunks in HTTP/1.0",
	  "POST / HTTP/1.0\r\nHost: a.test\r\n" CHUNKED "\r\n0\r\n\r\n" GET("/b"), "refused 400"),
	S("a chunk's extension that ends with LF",
	  POST(CHUNKED) "2;\nxx\r\n4c\r\n0\r\n\r\n" GET("/b"), "POST / refused 400"),
	S("a size that ends with LF", POST(CHUNKED) "0\n\r\n" GET("/b"), "POST / refused 400"),
	S("a chunk that ends with two bytes", POST(CHUNKED) "1\r\naXX0\r\n\r\n" GET("/b"),
	  "POST / refused 400"),
	S("a chunk that ends with LF", POST(CHUNKED) "1\r\na\n0\r\n\r\n" GET("/b"),
	  "POST / refused 400"),
	S("a size that overflows", POST(CHUNKED) "10000000000000000\r\n\r\n" GET("/b"),
	  "POST / refused 400"),
	S("a trailer that is a request", POST(CHUNKED) "0\r\n" GET("/b"), "POST / refused 400"),
	S("a trailer with a length", POST(CHUNKED) "0\r\nContent-Length: 33\r\n\r\n" GET("/b"),
	  "POST / 0; GET /b 0; "),
	S("a blank line between requests", GET("/a") "\r\n" GET("/b"), "GET /a 0; refused 400"),
	S("a LF between requests", GET("/a") "\n" GET("/b"), "GET /a 0; refused 400"),
	S("a body that nobody announced", POST("") "abc" GET("/b"), "POST / 0; abcGET /b 0; "),
	S("a body of GET",
	  "GET /a HTTP/1.1\r\nHost: a.test\r\nContent-Length: 33\r\n\r\n" GET("/b"), "GET /a 33; "),
	S("HTTP/0.9 behind a request", GET("/a") "GET /b\r\n", "GET /a 0; refused 400"),
	S("a request line in the target",
	  "GET /a HTTP/1.1\r\nGET /b HTTP/1.1\r\nHost: a.test\r\n\r\n", "refused 400"),
	S("a body too large", POST("Content-Length: 1001\r\n"), "refused 413"),
	S("a body that never comes", POST("Content-Length: 5\r\n") "abc", "POST / waits"),
	S("a head that never ends", GET("/a") "GET /b HTTP/1.1\r\n", "GET /a 0; waits"),
	S("two hosts", "GET / HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\n\r\n", "refused 400"),
	S("a host hidden by a fold",
	  "GET / HTTP/1.1\r\nX: y\r\n Host: b.test\r\nHost: a.test\r\n\r\n", "refused 400"),
	S("another host in the target", "GET http://b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
	  "refused 400"),
};

static void pipelined(void)
{
	char story[512], pieces[512];

	for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
		read_stream(streams[i].text, streams[i].len, streams[i].len, story);
		is_str(story, streams[i].story, streams[i].name);
		for (size_t by = 1; by < streams[i].len; by++) {
			read_stream(streams[i].text, streams[i].len, by, pieces);
			if (strcmp(story, pieces) != 0) {
				diag("by %zu bytes: %s", by, pieces);
				ok(false, "the same in pieces");
				break;
			}
		}
	}
}

int main(void)
{
	TAP_RUN(pipelined);
	return tap_done();
}
