/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies: lengths, chunks, all to the end; what is refused, and that pieces make no difference. */
#include "http/body.h"
#include "http_help.h"

struct body_answer {
	int r;
	struct http_error e;
	size_t used, len;
	char data[4096];
};

static struct http_head request_head(int64_t length, bool chunked)
{
	struct http_head h;

	http_head_init(&h);
	h.content_length = length;
	h.chunked = chunked;
	h.minor = 1;
	return h;
}

/* Feed in steps; each step is a block of its own, so that a byte too far is seen. */
static struct body_answer feed_body(struct http_body b, const char *text, size_t len, size_t step)
{
	struct body_answer a = {0};

	for (size_t at = 0; a.r == 0 && at < len; at += step) {
		size_t n = len - at < step ? len - at : step, done = 0;
		char *in = copy_of(text + at, n);

		while (a.r == 0 && done < n) {
			const char *data = NULL;
			size_t used = 0, got = 0;

			a.r = http_body_feed(&b, in + done, n - done, &used, &data, &got, &a.e);
			if (a.len + got > sizeof(a.data) || (a.r == 0 && used == 0))
				abort();
			memcpy(a.data + a.len, data, got);
			a.len += got;
			a.used += used;
			done += used;
		}
		free(in);
	}
	return a;
}

/* `want` is the payload of a body that is whole or goes on, or NULL. */
static void body_is(const char *name, const struct http_body *b, const char *text, size_t len,
		    int status, const char *want)
{
	struct body_answer whole = feed_body(*b, text, len, len ? len : 1);
	int got = whole.r > 0 ? 0 : whole.r == 0 ? WANT_MORE : whole.e.status;
	bool same = true;

	for (size_t step = 1; same && step < len; step++) {
		struct body_answer a = feed_body(*b, text, len, step);

		same = a.r == whole.r && a.e.status == whole.e.status && a.e.why == whole.e.why &&
		       (a.r < 0 || (a.used == whole.used && a.len == whole.len &&
				    memcmp(a.data, whole.data, a.len) == 0));
	}
	if (want && whole.r >= 0)
		same = same && whole.len == strlen(want) &&
		       memcmp(whole.data, want, whole.len) == 0;
	if (!ok(got == status && same, name))
		diag("got %d (%s), want %d%s; payload \"%.*s\"", got,
		     whole.e.why ? whole.e.why : "-", status, same ? "" : "; differs",
		     (int)whole.len, whole.data);
}

#define C(name, text, status, want)                                                                \
	{                                                                                          \
		name, text, sizeof(text) - 1, status, want                                         \
	}
static const struct {
	const char *name, *text;
	size_t len;
	int status;
	const char *want;
} chunks[] = {
	C("one chunk", "5\r\nhello\r\n0\r\n\r\n", 0, "hello"),
	C("two chunks", "5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n", 0, "hello!"),
	C("none", "0\r\n\r\n", 0, ""),
	C("what is behind stays", "1\r\na\r\n0\r\n\r\nGET /", 0, "a"),
	C("hexadecimal of both cases", "a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n", 0,
	  "01234567890123456789"),
	C("zeros in front", "0000000000000005\r\nhello\r\n0\r\n\r\n", 0, "hello"),
	C("many zeros at the end", "0000000000000000\r\n\r\n", 0, ""),
	C("line ends in the payload", "4\r\n\r\n\r\n\r\n0\r\n\r\n", 0, "\r\n\r\n"),
	C("an extension", "1;a=b\r\nx\r\n0\r\n\r\n", 0, "x"),
	C("an extension of quotes", "1;a=\"b;c\"\r\nx\r\n0;d\r\n\r\n", 0, "x"),
	C("an empty extension", "1;\r\nx\r\n0\r\n\r\n", 0, "x"),
	C("trailers", "1\r\nx\r\n0\r\nA: b\r\nC:d\r\n\r\n", 0, "x"),
	C("a trailer without a value", "0\r\nA:\r\n\r\n", 0, ""),
	C("half a size", "5", WANT_MORE, ""),
	C("half a chunk", "5\r\nhel", WANT_MORE, "hel"),
	C("all but the end", "5\r\nhello\r\n0\r\n\r", WANT_MORE, "hello"),
	C("trailers that go on", "0\r\nA: b\r\n", WANT_MORE, ""),
	C("no size", "\r\nhello\r\n0\r\n\r\n", 400, NULL),
	C("a size of letters", "x\r\n", 400, NULL),
	C("0x", "0x5\r\nhello\r\n0\r\n\r\n", 400, NULL),
	C("a plus", "+5\r\nhello\r\n0\r\n\r\n", 400, NULL),
	C("a minus", "-5\r\nhello\r\n0\r\n\r\n", 400, NULL),
	C("a blank in front", " 5\r\nhello\r\n0\r\n\r\n", 400, NULL),
	C("a blank behind", "5 \r\nhello\r\n0\r\n\r\n", 400, NULL),
	C("a tab behind", "5\t\r\nhello\r\n0\r\n\r\n", 400, NULL),
	C("a blank in front of an extension", "5 ;a\r\nhello\r\n0\r\n\r\n", 400, NULL),
	C("an underscore", "1_0\r\n", 400, NULL),
	C("a comma", "5,5\r\nhello\r\n", 400, NULL),
	C("a fraction", "5.0\r\nhello\r\n", 400, NULL),
	C("NUL", "5\0\r\nhello\r\n0\r\n\r\n", 400, NULL),
	C("17 digits", "00000000000000005\r\nhello\r\n0\r\n\r\n", 400, NULL),
	C("2^64 - 1", "ffffffffffffffff\r\nx", 400, NULL),
	C("2^63", "8000000000000000\r\nx", 400, NULL),
	C("2^64 + 5", "10000000000000005\r\nhello\r\n0\r\n\r\n", 400, NULL),
	C("2^32 + 5 is what it says", "100000005\r\nhello", 413, NULL),
	C("a bare LF behind the size", "5\nhello\r\n0\r\n\r\n", 400, NULL),
	C("a bare CR behind the size", "5\rhello\r\n0\r\n\r\n", 400, NULL),
	C("CR CR LF behind the size", "5\r\r\nhello\r\n0\r\n\r\n", 400, NULL),
	C("a bare LF in an extension", "5;a\nhello\r\n0\r\n\r\n", 400, NULL),
	C("a bare CR in an extension", "5;a\rb\r\nhello\r\n0\r\n\r\n", 400, NULL),
	C("NUL in an extension", "5;a\0b\r\nhello\r\n0\r\n\r\n", 400, NULL),
	C("a chunk that is longer", "5\r\nhello!\r\n0\r\n\r\n", 400, NULL),
	C("a chunk that is shorter", "6\r\nhello\r\n0\r\n\r\n", 400, NULL),
	C("another byte for the CR behind a chunk", "5\r\nhelloX\n0\r\n\r\n", 400, NULL),
	C("a bare LF behind a chunk", "5\r\nhello\n0\r\n\r\n", 400, NULL),
	C("a bare CR behind a chunk", "5\r\nhello\r0\r\n\r\n", 400, NULL),
	C("nothing behind a chunk", "5\r\nhello0\r\n\r\n", 400, NULL),
	C("two line ends behind a chunk", "5\r\nhello\r\n\r\n0\r\n\r\n", 400, NULL),
	C("a bare LF at the end", "0\r\n\n", 400, NULL),
	C("a bare CR at the end", "0\r\n\rX", 400, NULL),
	C("a trailer without a colon", "0\r\nA\r\n\r\n", 400, NULL),
	C("a trailer without a name", "0\r\n: b\r\n\r\n", 400, NULL),
	C("a blank in front of its colon", "0\r\nA : b\r\n\r\n", 400, NULL),
	C("a folded trailer", "0\r\nA: b\r\n c\r\n\r\n", 400, NULL),
	C("a trailer that ends with LF", "0\r\nA: b\n\r\n", 400, NULL),
	C("a CR within a trailer", "0\r\nA: b\rc\r\n\r\n", 400, NULL),
	C("NUL in a trailer", "0\r\nA: \0\r\n\r\n", 400, NULL),
	C("a request instead of trailers", "0\r\nGET / HTTP/1.1\r\n\r\n", 400, NULL),
	C("no blank line but a request", "0\r\nGET /admin:x HTTP/1.1\r\n\r\n", 400, NULL),
};

static struct http_body chunked_body(uint64_t max)
{
	struct http_head h = request_head(-1, true);
	struct http_error e;
	struct http_body b;

	if (http_body_of_request(&b, &h, max, &e) < 0)
		abort();
	return b;
}

static void chunked(void)
{
	struct http_body b = chunked_body(1u << 20);

	for (size_t i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++)
		body_is(chunks[i].name, &b, chunks[i].text, chunks[i].len, chunks[i].status,
			chunks[i].want);
}

static void with_length(void)
{
	struct http_head h = request_head(5, false);
	struct http_error e = {0};
	struct http_body b;

	is_int(http_body_of_request(&b, &h, 5, &e), 0, "as long as allowed");
	body_is("a length", &b, "hello", 5, 0, "hello");
	body_is("what is behind it stays", &b, "helloGET /", 10, 0, "hello");
	body_is("less than it", &b, "hell", 4, WANT_MORE, "hell");
	ok(http_body_eof(&b, &e) < 0 && e.status == 400, "the connection ends within it");
	ok(http_body_of_request(&b, &h, 4, &e) < 0 && e.status == 413, "longer than allowed");

	h = request_head(0, false);
	const char *data;
	size_t used, len;
	is_int(http_body_of_request(&b, &h, 5, &e), 0, "a length of 0");
	is_int(http_body_feed(&b, NULL, 0, &used, &data, &len, &e), 1, "is whole at once");
	h = request_head(-1, false);
	is_int(http_body_of_request(&b, &h, 5, &e), 0, "a request without a length");
	is_int(http_body_feed(&b, "GET", 3, &used, &data, &len, &e), 1, "has no body");
	is_int((int)(used + len), 0, "and takes nothing of what is behind it");
}

static void size_limit(void)
{
	struct http_body b = chunked_body(5);

	body_is("chunks as large as allowed", &b, "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", 20, 0,
		"hello");
	body_is("one byte more", &b, "2\r\nhe\r\n4\r\nllo!\r\n0\r\n\r\n", 21, 413, NULL);
	body_is("refused by its size, before it comes", &b, "2\r\nhe\r\n4\r\n", 10, 413, NULL);
}

/* `n` pieces between what is in front and behind. */
static char *repeated(const char *lead, const char *piece, size_t n, const char *tail, size_t *ret)
{
	size_t piece_len = strlen(piece), at = strlen(lead);
	char *p = malloc(at + n * piece_len + strlen(tail) + 1);

	memcpy(p, lead, at);
	for (size_t i = 0; i < n; i++, at += piece_len)
		memcpy(p + at, piece, piece_len);
	memcpy(p + at, tail, strlen(tail) + 1);
	*ret = at + strlen(tail);
	return p;
}

static int fed(const char *text, size_t len, size_t step)
{
	struct http_body b = chunked_body(1u << 20);
	struct body_answer a = feed_body(b, text, len, step);

	return a.r > 0 ? 0 : a.r == 0 ? WANT_MORE : a.e.status;
}

static void framing_limits(void)
{
	size_t len;
	char *p = repeated("1;", "a", HTTP_CHUNK_EXTENSIONS_MAX - 1, "\r\nx\r\n0\r\n\r\n", &len);

	is_int(fed(p, len, len), 0, "an extension of 4 KiB");
	free(p);
	p = repeated("1;", "a", HTTP_CHUNK_EXTENSIONS_MAX, "\r\nx\r\n0\r\n\r\n", &len);
	is_int(fed(p, len, len), 400, "one byte more");
	is_int(fed(p, len, 7), 400, "in pieces, too");
	free(p);
	p = repeated("", "1;aaaaaaaaaaaaaaa\r\nx\r\n", 1000, "0\r\n\r\n", &len);
	is_int(fed(p, len, len), 400, "a little on every chunk");
	free(p);
	p = repeated("0\r\n", "A: b\r\n", HTTP_TRAILER_FIELDS_MAX, "\r\n", &len);
	is_int(fed(p, len, 3), 0, "32 trailers");
	free(p);
	p = repeated("0\r\n", "A: b\r\n", HTTP_TRAILER_FIELDS_MAX + 1, "\r\n", &len);
	is_int(fed(p, len, 3), 400, "33 trailers");
	free(p);
	p = repeated("0\r\nA: ", "b", HTTP_TRAILERS_MAX, "\r\n\r\n", &len);
	is_int(fed(p, len, len), 400, "a trailer of more than 8 KiB");
	free(p);
	p = repeated("0\r\n", "a", HTTP_TRAILERS_MAX + 1, "", &len);
	is_int(fed(p, len, len), 400, "a trailer's name that never ends");
	free(p);
}

static struct http_body response(const char *head, enum http_method asked)
{
	struct http_error e = {0};
	struct http_head h;
	struct http_body b = {0};

	http_head_init(&h);
	if (http_head_parse(&h, head, strlen(head), HTTP_RESPONSE, &e) <= 0 ||
	    http_body_of_response(&b, &h, asked, 1000, &e) < 0)
		diag("%s: %s", head, e.why);
	return b;
}

#define LENGTH_5 "Content-Length: 5\r\n\r\n"
static void responses(void)
{
	struct http_error e = {0};
	struct http_body b = response("HTTP/1.1 200 X\r\n" LENGTH_5, HTTP_GET);

	is_int(b.kind, HTTP_BODY_LENGTH, "a length");
	ok(http_body_eof(&b, &e) < 0 && e.status == 502, "an early end is the server's fault");
	b = response("HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP_GET);
	is_int(b.kind, HTTP_BODY_CHUNKED, "chunks");
	body_is("bad chunks are the server's fault", &b, "x", 1, 502, NULL);
	b = response("HTTP/1.1 200 X\r\n" LENGTH_5, HTTP_HEAD);
	is_int(b.kind, HTTP_BODY_NONE, "HEAD");
	b = response("HTTP/1.1 304 X\r\n" LENGTH_5, HTTP_GET);
	is_int(b.kind, HTTP_BODY_NONE, "304");
	b = response("HTTP/1.1 204 X\r\n\r\n", HTTP_GET);
	is_int(b.kind, HTTP_BODY_NONE, "204");
	b = response("HTTP/1.1 100 X\r\n\r\n", HTTP_POST);
	is_int(b.kind, HTTP_BODY_NONE, "100");
	b = response("HTTP/1.1 200 X\r\n" LENGTH_5, HTTP_CONNECT);
	is_int(b.kind, HTTP_BODY_NONE, "a tunnel");
	b = response("HTTP/1.1 403 X\r\n" LENGTH_5, HTTP_CONNECT);
	is_int(b.kind, HTTP_BODY_LENGTH, "a tunnel that is refused");
	b = response("HTTP/1.1 200 X\r\n\r\n", HTTP_GET);
	is_int(b.kind, HTTP_BODY_TO_END, "all to the end");
	body_is("goes on", &b, "0\r\n\r\nHTTP/1.1", 13, WANT_MORE, "0\r\n\r\nHTTP/1.1");
	is_int(http_body_eof(&b, &e), 0, "and ends with the connection");
	char *large = copy_of("", 0);
	large = realloc(large, 1001);
	memset(large, 'a', 1001);
	struct body_answer a = feed_body(b, large, 1000, 100);
	is_int(a.r, 0, "as much as allowed");
	a = feed_body(b, large, 1001, 100);
	is_int(a.e.status, 502, "one byte more");
	free(large);
}

static void after_refusal(void)
{
	struct http_body b = chunked_body(100);
	struct http_error e = {0};
	const char *data;
	size_t used, len;

	ok(http_body_feed(&b, "x", 1, &used, &data, &len, &e) < 0, "refused");
	ok(http_body_feed(&b, "0\r\n\r\n", 5, &used, &data, &len, &e) < 0, "refused for good");
	ok(http_body_eof(&b, &e) < 0, "and not whole at the end");
}

int main(void)
{
	TAP_RUN(chunked);
	TAP_RUN(with_length);
	TAP_RUN(size_limit);
	TAP_RUN(framing_limits);
	TAP_RUN(responses);
	TAP_RUN(after_refusal);
	return tap_done();
}
