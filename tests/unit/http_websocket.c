/* SPDX-License-Identifier: Apache-2.0 */
/* WebSockets: the opening, and frames of clients that follow the protocol and that do not. */
#include "http/websocket.h"
#include "http_help.h"

#define OPEN "GET / HTTP/1.1\r\nHost: a\r\n"
#define ASKS "Upgrade: websocket\r\nConnection: Upgrade\r\n"
#define VERSION "Sec-WebSocket-Version: 13\r\n"
#define KEY "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

static int opened(const char *text, char accept[WS_ACCEPT_SIZE])
{
	struct http_error e = {0};
	struct http_head h;

	http_head_init(&h);
	if (http_head_parse(&h, text, strlen(text), HTTP_REQUEST, &e) <= 0)
		return -1;
	return ws_handshake(&h, accept, &e) < 0 ? e.status : 0;
}

static void opening(void)
{
	char a[WS_ACCEPT_SIZE] = "";

	is_int(opened(OPEN ASKS VERSION KEY "\r\n", a), 0, "a WebSocket");
	is_str(a, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "the RFC's own answer");
	is_int(opened(OPEN "Upgrade: WebSocket\r\nConnection: keep-alive, upgrade\r\n" VERSION KEY
			   "\r\n",
		      a),
	       0, "words in other case");
	is_int(opened(OPEN VERSION KEY "\r\n", a), 400, "no Upgrade");
	is_int(opened(OPEN "Upgrade: websocket\r\n" VERSION KEY "\r\n", a), 400, "no Connection");
	is_int(opened(OPEN "Upgrade: h2c\r\nConnection: upgrade\r\n" VERSION KEY "\r\n", a), 400,
	       "another protocol");
	is_int(opened(OPEN ASKS KEY "\r\n", a), 426, "no version");
	is_int(opened(OPEN ASKS "Sec-WebSocket-Version: 8\r\n" KEY "\r\n", a), 426, "an old one");
	is_int(opened(OPEN ASKS VERSION "\r\n", a), 400, "no key");
	is_int(opened(OPEN ASKS VERSION KEY KEY "\r\n", a), -1, "two keys");
	is_int(opened(OPEN ASKS VERSION "Sec-WebSocket-Key: dGhl\r\n\r\n", a), 400, "a short key");
	is_int(opened(OPEN ASKS VERSION "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j*Q==\r\n\r\n", a),
	       400, "a key that is no base64");
	is_int(opened(OPEN ASKS VERSION "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQAA\r\n\r\n", a),
	       400, "a key of 18 bytes");
	is_int(opened("POST / HTTP/1.1\r\nHost: a\r\n" ASKS VERSION KEY "\r\n", a), 400, "POST");
	is_int(opened(OPEN ASKS VERSION KEY "Content-Length: 5\r\n\r\n", a), 400, "a body");
}

/* A client's frame, masked; appended to `out`. */
struct wire {
	char data[8192];
	size_t len;
};

static void put(struct wire *w, unsigned first, const char *payload, size_t n)
{
	static const unsigned char mask[4] = {0x37, 0xfa, 0x21, 0x3d};
	unsigned char *p = (unsigned char *)w->data + w->len;
	size_t at = 2;

	p[0] = (unsigned char)first;
	if (n < 126) {
		p[1] = (unsigned char)(0x80 | n);
	} else {
		p[1] = 0x80 | 126;
		p[at++] = (unsigned char)(n >> 8);
		p[at++] = (unsigned char)n;
	}
	memcpy(p + at, mask, 4);
	at += 4;
	for (size_t i = 0; i < n; i++)
		p[at + i] = (unsigned char)payload[i] ^ mask[i & 3];
	w->len += at + n;
}

/* What came of it: one letter an event, payload, `.` behind the last piece of a message. */
static char letter(enum ws_op op)
{
	switch (op) {
	case WS_TEXT: return 't';
	case WS_BINARY: return 'b';
	case WS_PING: return 'p';
	case WS_PONG: return 'q';
	case WS_CLOSE: return 'c';
	case WS_MORE: break;
	}
	return '?';
}

static void tell(char *story, const struct ws_event *ev, bool *was_piece)
{
	char *end = story + strlen(story);

	if (ev->op >= WS_CLOSE || !*was_piece)
		end += snprintf(end, 4, "%c:", letter(ev->op));
	if (ev->op == WS_CLOSE)
		end += snprintf(end, 8, "%u", ev->close);
	memcpy(end, ev->data, ev->len);
	end += ev->len;
	(void)snprintf(end, 2, "%s", ev->is_last ? "." : "");
	if (ev->op < WS_CLOSE)
		*was_piece = !ev->is_last;
}

static void told(const struct wire *w, size_t step, uint64_t max, char *story)
{
	bool was_piece = false, is_over = false;
	struct ws ws;

	ws_init(&ws, max);
	story[0] = '\0';
	for (size_t at = 0; at < w->len && !is_over; at += step) {
		size_t n = w->len - at < step ? w->len - at : step, done = 0;
		char *in = copy_of(w->data + at, n);

		while (done < n && !is_over) {
			struct http_error e = {0};
			struct ws_event ev;
			size_t used = 0;
			int r = ws_feed(&ws, in + done, n - done, &used, &ev, &e);

			if (r < 0)
				(void)snprintf(story + strlen(story), 8, "!%u", e.status);
			else if (r > 0)
				tell(story, &ev, &was_piece);
			else if (used == 0)
				abort();
			is_over = r < 0;
			done += used;
		}
		free(in);
	}
}

static void story_is(const char *name, const struct wire *w, const char *want)
{
	static char story[9000], pieces[9000];

	told(w, w->len ? w->len : 1, 1000, story);
	if (!is_str(story, want, name))
		return;
	for (size_t step = 1; step < w->len; step++) {
		told(w, step, 1000, pieces);
		/* What came in pieces before a refusal was given already. */
		const char *got = strchr(pieces, '!'), *whole = strchr(story, '!');
		if (strcmp(whole && got ? whole : story, whole && got ? got : pieces) != 0) {
			diag("by %zu: %s", step, pieces);
			ok(false, "the same in pieces");
			return;
		}
	}
}

/* Frames as (first byte, payload), up to a first byte of 0xff. */
struct frames {
	const char *name;
	struct {
		unsigned first;
		const char *payload;
		size_t len;
	} f[5];
	const char *want;
};
#define F(first, payload)                                                                          \
	{                                                                                          \
		first, payload, sizeof(payload) - 1                                                \
	}
#define END                                                                                        \
	{                                                                                          \
		0xff, NULL, 0                                                                      \
	}

static const struct frames sent[] = {
	{"a text", {F(0x81, "hello"), END}, "t:hello."},
	{"bytes", {F(0x82, "\xff\xfe"), END}, "b:\xff\xfe."},
	{"an empty text", {F(0x81, ""), END}, "t:."},
	{"in two pieces", {F(0x01, "hel"), F(0x80, "lo"), END}, "t:hello."},
	{"an empty last piece", {F(0x01, "hello"), F(0x80, ""), END}, "t:hello."},
	{"empty pieces", {F(0x01, ""), F(0x00, ""), F(0x80, "a"), END}, "t:a."},
	{"two messages", {F(0x81, "a"), F(0x82, "b"), END}, "t:a.b:b."},
	{"ping", {F(0x89, "x"), END}, "p:x."},
	{"an empty ping", {F(0x89, ""), END}, "p:."},
	{"pong", {F(0x8a, "x"), END}, "q:x."},
	{"a ping between pieces", {F(0x01, "a"), F(0x89, "x"), F(0x80, "b"), END}, "t:ap:x.b."},
	{"close", {F(0x88, "\x03\xe8"), END}, "c:1000."},
	{"close with a reason",
	 {F(0x88, "\x03\xe8"
		  "bye"),
	  END},
	 "c:1000bye."},
	{"close without a code", {F(0x88, ""), END}, "c:1005."},
	{"close with a code of one's own", {F(0x88, "\x0f\xa0"), END}, "c:4000."},
	{"nothing counts behind close", {F(0x88, ""), F(0x83, "x"), END}, "c:1005."},
	{"a character in two pieces", {F(0x01, "\xc3"), F(0x80, "\xa4"), END}, "t:\xc3\xa4."},
	{"four bytes of a character", {F(0x81, "\xf0\x9f\x98\x80"), END}, "t:\xf0\x9f\x98\x80."},
	{"half a close code", {F(0x88, "\x03"), END}, "!1002"},
	{"code 999", {F(0x88, "\x03\xe7"), END}, "!1002"},
	{"code 1004", {F(0x88, "\x03\xec"), END}, "!1002"},
	{"code 1005 on the wire", {F(0x88, "\x03\xed"), END}, "!1002"},
	{"code 1006 on the wire", {F(0x88, "\x03\xee"), END}, "!1002"},
	{"code 1015 on the wire", {F(0x88, "\x03\xf7"), END}, "!1002"},
	{"code 5000", {F(0x88, "\x13\x88"), END}, "!1002"},
	{"a reason that is no text", {F(0x88, "\x03\xe8\xff"), END}, "!1007"},
	{"reserved bit 1", {F(0xc1, "a"), END}, "!1002"},
	{"reserved bit 2", {F(0xa1, "a"), END}, "!1002"},
	{"reserved bit 3", {F(0x91, "a"), END}, "!1002"},
	{"opcode 3", {F(0x83, "a"), END}, "!1002"},
	{"opcode 7", {F(0x87, "a"), END}, "!1002"},
	{"opcode 11", {F(0x8b, "a"), END}, "!1002"},
	{"opcode 15", {F(0x8f, "a"), END}, "!1002"},
	{"a ping in pieces", {F(0x09, "a"), END}, "!1002"},
	{"close in pieces", {F(0x08, ""), END}, "!1002"},
	{"more of nothing", {F(0x80, "a"), END}, "!1002"},
	{"more behind a whole message", {F(0x81, "a"), F(0x80, "b"), END}, "t:a.!1002"},
	{"a message within another", {F(0x01, ""), F(0x81, "b"), END}, "!1002"},
	{"a text that is none", {F(0x81, "\xff"), END}, "!1007"},
	{"overlong", {F(0x81, "\xc0\x80"), END}, "!1007"},
	{"overlong of three", {F(0x81, "\xe0\x80\x80"), END}, "!1007"},
	{"overlong of four", {F(0x81, "\xf0\x80\x80\x80"), END}, "!1007"},
	{"a surrogate", {F(0x81, "\xed\xa0\x80"), END}, "!1007"},
	{"past the end of Unicode", {F(0x81, "\xf4\x90\x80\x80"), END}, "!1007"},
	{"a lone continuation", {F(0x81, "\x80"), END}, "!1007"},
};

static void frames(void)
{
	for (size_t i = 0; i < sizeof(sent) / sizeof(sent[0]); i++) {
		static struct wire w;

		w.len = 0;
		for (size_t k = 0; sent[i].f[k].first != 0xff; k++)
			put(&w, sent[i].f[k].first, sent[i].f[k].payload, sent[i].f[k].len);
		story_is(sent[i].name, &w, sent[i].want);
	}
}

static void raw_is(const char *name, const char *bytes, size_t len, const char *want)
{
	static struct wire w;

	memcpy(w.data, bytes, len);
	w.len = len;
	story_is(name, &w, want);
}
#define RAW(name, bytes, want) raw_is(name, bytes, sizeof(bytes) - 1, want)

static void lengths(void)
{
	static struct wire w;
	static char payload[2000], want[2100];

	RAW("no mask", "\x81\x05hello", "!1002");
	RAW("a ping of 126 bytes", "\x89\xfe\x00\x7e", "!1002");
	RAW("5 in two bytes", "\x81\xfe\x00\x05\0\0\0\0hello", "!1002");
	RAW("125 in two bytes", "\x81\xfe\x00\x7d\0\0\0\0", "!1002");
	RAW("5 in eight bytes", "\x81\xff\0\0\0\0\0\0\0\x05\0\0\0\0hello", "!1002");
	RAW("65535 in eight bytes", "\x81\xff\0\0\0\0\0\0\xff\xff\0\0\0\0", "!1002");
	RAW("2^63", "\x81\xff\x80\0\0\0\0\0\0\0\0\0\0\0", "!1002");
	RAW("2^64 - 1", "\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0", "!1002");
	RAW("2^62", "\x81\xff\x40\0\0\0\0\0\0\0\0\0\0\0", "!1009");
	RAW("a character that is cut", "\x01\x81\0\0\0\0\xc3\x80\x80\0\0\0\0", "t:\xc3!1007");
	memset(payload, 'a', sizeof(payload));
	w.len = 0;
	put(&w, 0x81, payload, 1000);
	snprintf(want, sizeof(want), "t:%.1000s.", payload);
	story_is("as large as allowed", &w, want);
	w.len = 0;
	put(&w, 0x81, payload, 1001);
	story_is("one byte more", &w, "!1009");
	w.len = 0;
	put(&w, 0x01, "", 0);
	put(&w, 0x00, payload, 1000);
	put(&w, 0x80, "b", 1);
	snprintf(want, sizeof(want), "t:%.1000s!1009", payload);
	story_is("one byte more, in pieces", &w, want);
	w.len = 0;
	put(&w, 0x89, payload, 125);
	snprintf(want, sizeof(want), "p:%.125s.", payload);
	story_is("a ping of 125 bytes", &w, want);
}

static void ours(void)
{
	char out[2 + WS_CONTROL_MAX], reason[200];

	is_int((int)ws_frame_head(out, WS_TEXT, true, 125), 2, "125 bytes");
	ok(memcmp(out, "\x81\x7d", 2) == 0, "on the wire");
	is_int((int)ws_frame_head(out, WS_BINARY, false, 126), 4, "126 bytes");
	ok(memcmp(out, "\x02\x7e\x00\x7e", 4) == 0, "on the wire");
	is_int((int)ws_frame_head(out, WS_MORE, true, 65535), 4, "65535 bytes");
	is_int((int)ws_frame_head(out, WS_MORE, true, 65536), 10, "65536 bytes");
	ok(memcmp(out, "\x80\x7f\0\0\0\0\0\1\0\0", 10) == 0, "on the wire");
	is_int((int)ws_close_frame(out, 1000, "bye"), 7, "close");
	ok(memcmp(out,
		  "\x88\x05\x03\xe8"
		  "bye",
		  7) == 0,
	   "on the wire");
	for (int i = 0; i < 198; i += 2)
		memcpy(reason + i, "\xc3\xa4", 2);
	reason[198] = '\0';
	is_int((int)ws_close_frame(out, 1000, reason), 4 + 122,
	       "a reason is cut between characters");
}

int main(void)
{
	TAP_RUN(opening);
	TAP_RUN(frames);
	TAP_RUN(lengths);
	TAP_RUN(ours);
	return tap_done();
}
