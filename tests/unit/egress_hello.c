/* SPDX-License-Identifier: Apache-2.0 */
/* ClientHellos: whole, in pieces, in several records, and those that hide or lack a name. */
#include "egress/hello.h"
#include "tap.h"

struct bytes {
	uint8_t at[20000];
	size_t len;
};

static void put(struct bytes *b, const void *data, size_t n)
{
	memcpy(b->at + b->len, data, n);
	b->len += n;
}

static void put_number(struct bytes *b, unsigned value, unsigned bytes)
{
	for (unsigned i = bytes; i-- > 0;)
		b->at[b->len++] = (uint8_t)(value >> (8 * i));
}

static void put_extension(struct bytes *b, unsigned type, const void *data, size_t n)
{
	put_number(b, type, 2);
	put_number(b, (unsigned)n, 2);
	put(b, data, n);
}

static void put_name(struct bytes *b, const char *name, size_t n)
{
	struct bytes ext = {.len = 0};

	put_number(&ext, (unsigned)n + 3, 2);
	put_number(&ext, 0, 1);
	put_number(&ext, (unsigned)n, 2);
	put(&ext, name, n);
	put_extension(b, 0, ext.at, ext.len);
}

/* A message around extensions; without any when it is NULL. */
static struct bytes message(const struct bytes *extensions)
{
	struct bytes body = {.len = 0}, msg = {.len = 0};
	uint8_t random[32] = {7};

	put_number(&body, 0x0303, 2);
	put(&body, random, sizeof(random));
	put_number(&body, 0, 1);
	put_number(&body, 4, 2);
	put_number(&body, 0x13011302, 4);
	put_number(&body, 1, 1);
	put_number(&body, 0, 1);
	if (extensions) {
		put_number(&body, (unsigned)extensions->len, 2);
		put(&body, extensions->at, extensions->len);
	}
	put_number(&msg, 1, 1);
	put_number(&msg, (unsigned)body.len, 3);
	put(&msg, body.at, body.len);
	return msg;
}

/* In records of at most `size` bytes. */
static struct bytes records(const struct bytes *msg, size_t size)
{
	struct bytes out = {.len = 0};

	for (size_t at = 0; at < msg->len; at += size) {
		size_t n = msg->len - at < size ? msg->len - at : size;

		put_number(&out, 0x160301, 3);
		put_number(&out, (unsigned)n, 2);
		put(&out, msg->at + at, n);
	}
	return out;
}

static struct bytes hello_for(const char *name)
{
	struct bytes ext = {.len = 0}, msg;

	put_extension(&ext, 0x0a0a, "", 0); /* GREASE */
	put_name(&ext, name, strlen(name));
	put_extension(&ext, 16, "\0\x0c\x02h2\x08http/1.1", 14);
	put_extension(&ext, 43, "\x04\x03\x04\x03\x03", 5);
	msg = message(&ext);
	return records(&msg, 16384);
}

static enum hello_state parse(const struct bytes *b, struct hello *h)
{
	uint8_t *copy = malloc(b->len ? b->len : 1); /* a sanitizer sees what is read behind */

	memcpy(copy, b->at, b->len);
	enum hello_state state = hello_parse(copy, b->len, h);
	free(copy);
	return state;
}

static void refused(const struct bytes *b, const char *why)
{
	struct hello h;

	if (!ok(parse(b, &h) == HELLO_REFUSED && strstr(h.why, why), why))
		diag("got %s", h.why ? h.why : "none");
}

static void whole(void)
{
	struct bytes b = hello_for("Example.ORG");
	uint8_t alert[7];
	struct hello h;

	is_int(parse(&b, &h), HELLO_NAME, "a hello");
	is_str(h.name.text, "example.org", "its name");
	ok(h.offers_h2 && h.offers_http11 && h.offers_tls13, "what it offers");
	is_int(h.alpn_len, 12, "the list of protocols");
	put(&b, "\x17\x03\x03\0\1x", 6);
	is_int(parse(&b, &h), HELLO_NAME, "early data behind it");
	is_int((int)hello_alert(112, alert), 7, "an alert");
	is_int((int)hello_alert(0, alert), 0, "none for what is not TLS");
}

static void pieces(void)
{
	struct bytes b = hello_for("example.org"), msg = {.len = b.len - 5}, part;
	unsigned bad = 0;
	struct hello h;

	memcpy(msg.at, b.at + 5, msg.len);
	for (size_t n = 0; n < b.len; n++) {
		part = b;
		part.len = n;
		bad += parse(&part, &h) != HELLO_MORE;
	}
	is_int(bad, 0, "every part of it needs more");
	for (size_t size = (msg.len + 63) / 64; size < msg.len; size++) {
		part = records(&msg, size);
		bad += parse(&part, &h) != HELLO_NAME || strcmp(h.name.text, "example.org") != 0;
		part.len--;
		bad += parse(&part, &h) != HELLO_MORE;
	}
	is_int(bad, 0, "in several records it says the same");
	part = records(&msg, 1);
	refused(&part, "too many pieces");
}

static void names(void)
{
	static const struct {
		const char *name;
		size_t len;
		const char *why;
	} rows[] = {
		{"", 0, "empty"},
		{"example.org.", 12, "dot"},
		{"127.0.0.1", 9, "address"},
		{"2130706433", 10, "address"},
		{"::1", 3, "address"},
		{"a\0b.test", 8, "not a host name"},
		{"example.org\0.evil.test", 22, "not a host name"},
		{"ex ample.org", 12, "not a host name"},
		{"*.example.org", 13, "not a host name"},
		{"ex\xc3\xa4mple.org", 12, "not a host name"},
		{"example.org:443", 15, "not a host name"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bytes ext = {.len = 0}, msg, b;

		put_name(&ext, rows[i].name, rows[i].len);
		msg = message(&ext);
		b = records(&msg, 16384);
		refused(&b, rows[i].why);
	}
}

static void hidden(void)
{
	struct bytes ext = {.len = 0}, msg, b;

	put_name(&ext, "public.test", 11);
	put_extension(&ext, 0xfe0d, "\0\0\1\0\1\0\0\0", 8);
	msg = message(&ext);
	b = records(&msg, 16384);
	refused(&b, "ECH");
	ext.len = 0;
	put_extension(&ext, 43, "\x02\x03\x04", 3);
	msg = message(&ext);
	b = records(&msg, 16384);
	refused(&b, "no server_name");
	msg = message(NULL);
	b = records(&msg, 16384);
	refused(&b, "no server_name");
	ext.len = 0;
	put_name(&ext, "a.test", 6);
	put_name(&ext, "b.test", 6);
	msg = message(&ext);
	b = records(&msg, 16384);
	refused(&b, "twice");
	ext.len = 0;
	put_extension(&ext, 0, "\0\x12\0\0\6a.test\0\0\6b.test", 20);
	msg = message(&ext);
	b = records(&msg, 16384);
	refused(&b, "several names");
}

static void other(void)
{
	struct bytes b = {.len = 0}, msg, ext = {.len = 0};
	static uint8_t padding[16000];

	put(&b, "\x80\x2e\x01\x03\x01\0\x15\0\0", 9);
	refused(&b, "SSL 2");
	b.len = 0;
	put(&b, "GET / HTTP/1.1\r\n", 16);
	refused(&b, "not TLS");
	b.len = 0;
	put(&b, "SSH-2.0-x\r\n", 11);
	refused(&b, "not TLS");
	b.len = 0;
	put(&b, "\x16\x03\x01\0\4\2\0\0\1", 9);
	refused(&b, "not a ClientHello");
	b.len = 0;
	put(&b, "\x16\x03\x01\0\4\1\0\0\0", 9);
	refused(&b, "cut");
	b.len = 0;
	put(&b, "\x16\x03\x01\0\0", 5);
	refused(&b, "empty");
	b.len = 0;
	put(&b, "\x16\x03\x01\x40\x00\1\1\0\0", 9);
	refused(&b, "too long");
	b = hello_for("example.org");
	b.at[4]++;
	put(&b, "x", 1);
	refused(&b, "something behind");
	put_extension(&ext, 21, padding, 15800);
	put_name(&ext, "large.test", 10);
	msg = message(&ext);
	b = records(&msg, 4096);
	struct hello h;
	ok(parse(&b, &h) == HELLO_NAME && b.len <= HELLO_BYTES_MAX, "16 KB are taken");
}

/* What a server answers, cut at `n` bytes. */
static enum hello_answer answer(const struct bytes *b, size_t n)
{
	uint8_t *copy = malloc(n ? n : 1);

	memcpy(copy, b->at, n);
	enum hello_answer said = hello_answer(copy, n);
	free(copy);
	return said;
}

static struct bytes server_hello(bool retries)
{
	static const uint8_t retry[] =
		"\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91"
		"\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c";
	struct bytes b = {.len = 0};

	put(&b, "\x16\x03\x03\0\x2e\2\0\0\x2a\3\3", 11);
	put(&b, retries ? retry : (const uint8_t *)"0123456789012345678901234567890", 32);
	put(&b, "\0\x13\1\0\0\0\0\0", 8);
	return b;
}

static void answers(void)
{
	struct bytes b = server_hello(false), warned = {.len = 0};
	unsigned bad = 0;

	for (size_t n = 0; n < 43; n++)
		bad += answer(&b, n) != HELLO_ANSWER_MORE;
	is_int(bad, 0, "a part of an answer is none");
	is_int(answer(&b, b.len), HELLO_ANSWER_FINAL, "a ServerHello");
	b = server_hello(true);
	is_int(answer(&b, b.len), HELLO_ANSWER_RETRY, "one that asks for a second hello");
	put(&warned, "\x15\x03\x03\0\2\1\x70", 7);
	is_int(answer(&warned, 7), HELLO_ANSWER_MORE, "a warning");
	put(&warned, b.at, b.len);
	is_int(answer(&warned, warned.len), HELLO_ANSWER_RETRY, "one behind it");
	warned.len = 0;
	while (warned.len < HELLO_ANSWER_BYTES)
		put(&warned, "\x15\x03\x03\0\2\1\x70", 7);
	is_int(answer(&warned, HELLO_ANSWER_BYTES), HELLO_ANSWER_RETRY, "nothing but warnings");
	warned.len = 0;
	put(&warned, "\x15\x03\x03\0\2\2\x28", 7);
	is_int(answer(&warned, 7), HELLO_ANSWER_FINAL, "an error");
	b.at[4] = 10;
	is_int(answer(&b, b.len), HELLO_ANSWER_RETRY, "one in pieces");
	b.len = 0;
	put(&b, "\x16\x03\x03\0\x2e\0", 6);
	is_int(answer(&b, b.len), HELLO_ANSWER_RETRY, "what is no ServerHello");
	b.at[0] = 23;
	is_int(answer(&b, b.len), HELLO_ANSWER_FINAL, "what is no handshake");
}

static void second(void)
{
	struct bytes b = {.len = 0}, h = hello_for("example.org");
	bool more = true;

	is_int((int)hello_second(h.at, h.len, &more), 0, "nothing in front");
	ok(!more, "which is all");
	put(&b, "\x14\x03\x03\0\1\1\x17\x03\x03\0\2xy", 13);
	is_int((int)hello_second(b.at, 12, &more), 6, "half of early data");
	ok(more, "of which there is more");
	put(&b, h.at, h.len);
	is_int((int)hello_second(b.at, b.len, &more), 13, "all of it");
	ok(!more, "and no more");
	struct hello got;
	ok(hello_parse(b.at + 13, b.len - 13, &got) == HELLO_NAME && got.len == h.len,
	   "then the hello");
}

static void bent(void)
{
	struct bytes b = hello_for("example.org");
	uint32_t state = 1;
	struct hello h;

	for (unsigned i = 0; i < 50000; i++) {
		struct bytes copy = {.len = b.len};

		memcpy(copy.at, b.at, b.len);
		for (unsigned n = 0; n < 1 + i % 3; n++) {
			state = state * 1664525u + 1013904223u;
			copy.at[(state >> 8) % b.len] = (uint8_t)(state >> 24);
		}
		(void)parse(&copy, &h);
	}
	ok(1, "other bytes do no harm");
}

int main(void)
{
	TAP_RUN(whole);
	TAP_RUN(pieces);
	TAP_RUN(names);
	TAP_RUN(hidden);
	TAP_RUN(other);
	TAP_RUN(answers);
	TAP_RUN(second);
	TAP_RUN(bent);
	return tap_done();
}
