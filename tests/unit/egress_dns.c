/* SPDX-License-Identifier: Apache-2.0 */
/* Questions and answers of DNS, and the addresses that stand for names. */
#include "egress/dns.h"
#include "egress/synthetic.h"
#include "tap.h"

static struct name name_of(const char *text)
{
	const char *why = NULL;
	struct name n = {0};

	if (name_parse(text, strlen(text), &n, &why) < 0)
		diag("%s: %s", text, why);
	return n;
}

/* A question as programs send it: without EDNS. */
static size_t simple(uint8_t *msg, const char *name, enum dns_type type)
{
	struct name n = name_of(name);
	size_t len = dns_ask(0x1234, &n, type, msg);

	msg[11] = 0;
	return len - 11;
}

static int parse(const uint8_t *msg, size_t len, struct dns_query *q)
{
	const char *why = NULL;
	uint8_t *copy = malloc(len ? len : 1);

	memcpy(copy, msg, len);
	int r = dns_query_parse(copy, len, q, &why);
	free(copy);
	if (r != 0 && !why)
		diag("no reason");
	return r;
}

static void questions(void)
{
	uint8_t msg[600], answer[DNS_ANSWER_MAX];
	struct dns_query q;
	size_t len = simple(msg, "example.org", DNS_A);

	is_int(parse(msg, len, &q), 0, "a question");
	ok(q.id == 0x1234 && q.type == DNS_A && q.wants_recursion, "its parts");
	is_str(q.name.text, "example.org", "its name");
	msg[13] = 'E';
	is_int(parse(msg, len, &q), 0, "in upper case");
	is_str(q.name.text, "example.org", "it is the same");
	struct address list[2] = {address_of_ip4((uint8_t[]){198, 18, 0, 1}),
				  address_of_ip6((uint8_t[16]){0xfd, 0x70})};
	size_t n = dns_answer(&q, list, 2, answer);
	ok(n == len + 16 && answer[7] == 1 && answer[13] == 'E', "an answer with its family only");
	ok(memcmp(answer + n - 4, "\xc6\x12\0\1", 4) == 0, "the address");
	n = dns_answer_code(&q, DNS_NO_NAME, answer);
	ok(n == len && (answer[3] & 15) == 3 && answer[2] & 0x80, "no such name");
	n = dns_answer(&q, NULL, 0, answer);
	ok(n == len && (answer[3] & 15) == 0 && answer[7] == 0, "no data");
	struct name example = name_of("example.org");
	len = dns_ask(7, &example, DNS_AAAA, msg);
	is_int(parse(msg, len, &q), 0, "with EDNS");
}

static void refused(const char *what, unsigned at, uint8_t value, int want)
{
	uint8_t msg[600];
	struct dns_query q;
	size_t len = simple(msg, "example.org", DNS_A);

	msg[at] = value;
	is_int(parse(msg, len, &q), want, what);
}

static void odd_questions(void)
{
	uint8_t msg[600] = {0};
	struct dns_query q;
	size_t len = simple(msg, "example.org", DNS_A);
	unsigned bad = 0;

	for (size_t i = 0; i < len; i++)
		bad += parse(msg, i, &q) == 0;
	is_int(bad, 0, "one that is cut");
	is_int(parse(msg, len + 1, &q), DNS_FORMAT_ERROR, "one with a byte behind it");
	is_int(parse(msg, 600, &q), DNS_FORMAT_ERROR, "a long one");
	refused("an answer", 2, 0x81, -EBADMSG);
	refused("another operation", 2, 0x29, DNS_NOT_IMPLEMENTED);
	refused("no question", 5, 0, DNS_FORMAT_ERROR);
	refused("two questions", 5, 2, DNS_FORMAT_ERROR);
	refused("answers in it", 7, 1, DNS_FORMAT_ERROR);
	refused("authorities in it", 9, 1, DNS_FORMAT_ERROR);
	refused("more in it", 11, 1, DNS_FORMAT_ERROR);
	refused("a pointer", 12, 0xc0, DNS_FORMAT_ERROR);
	refused("a label that is too long", 12, 64, DNS_FORMAT_ERROR);
	refused("another class", (unsigned)len - 1, 3, DNS_REFUSED);
	refused("a dot in a label", 15, '.', DNS_NO_NAME);
	refused("NUL in a label", 15, 0, DNS_NO_NAME);
	refused("a blank in a label", 15, ' ', DNS_NO_NAME);
	refused("another alphabet", 15, 0xc3, DNS_NO_NAME);
	refused("a service", 13, '_', DNS_NO_NAME);
	/* 127.0.0.1 as a name */
	static const uint8_t address[] = "\0\1\1\0\0\1\0\0\0\0\0\0\3"
					 "127\1"
					 "0\1"
					 "0\1"
					 "1\0\0\1\0\1";
	is_int(parse(address, sizeof(address) - 1, &q), DNS_NO_NAME, "an address");
	static const uint8_t root[] = "\0\1\1\0\0\1\0\0\0\0\0\0\0\0\2\0\1";
	is_int(parse(root, sizeof(root) - 1, &q), DNS_NO_NAME, "the root");
}

static void frames(void)
{
	is_int(dns_frame((const uint8_t *)"", 0, 512), 0, "nothing yet");
	is_int(dns_frame((const uint8_t *)"\0\3ab", 4, 512), 0, "not all yet");
	is_int(dns_frame((const uint8_t *)"\0\3abcd", 6, 512), 3, "a message");
	ok(dns_frame((const uint8_t *)"\2\1", 2, 512) < 0, "too long");
	ok(dns_frame((const uint8_t *)"\0\0", 2, 512) < 0, "empty");
}

/* An answer to `name`: records are appended by hand. */
static size_t reply(uint8_t *msg, const char *name, unsigned records)
{
	size_t len = simple(msg, name, DNS_A);

	msg[2] = 0x81;
	msg[3] = 0x80;
	msg[7] = (uint8_t)records;
	return len;
}

static size_t record(uint8_t *to, const char *owner, size_t owner_len, unsigned type,
		     const char *data, size_t n)
{
	memcpy(to, owner, owner_len);
	to += owner_len;
	const uint8_t head[10] = {0, (uint8_t)type, 0, 1, 0, 0, 0, 60, 0, (uint8_t)n};

	memcpy(to, head, sizeof(head));
	memcpy(to + 10, data, n);
	return owner_len + 10 + n;
}

static void replies(void)
{
	struct name n = name_of("a.test"), other = name_of("b.test");
	uint8_t msg[600];
	struct dns_reply r;
	size_t len = reply(msg, "a.test", 2);

	len += record(msg + len, "\xc0\x0c", 2, DNS_CNAME, "\1C\xc0\x0e", 4);
	len += record(msg + len, "\1c\4test\0", 8, DNS_A, "\1\2\3\4", 4);
	is_int(dns_reply_parse(msg, len, 0x1234, &n, DNS_A, &r), 0, "an alias and its address");
	ok(r.n == 1 && r.list[0].bytes[3] == 4 && r.ttl_s == 60, "what it says");
	ok(dns_reply_parse(msg, len, 0x1235, &n, DNS_A, &r) < 0, "another id");
	ok(dns_reply_parse(msg, len, 0x1234, &other, DNS_A, &r) < 0, "another name");
	ok(dns_reply_parse(msg, len, 0x1234, &n, DNS_AAAA, &r) < 0, "another type");
	for (size_t i = 0; i < len; i++)
		if (dns_reply_parse(msg, i, 0x1234, &n, DNS_A, &r) == 0)
			ok(0, "one that is cut");
	len = reply(msg, "a.test", 1);
	len += record(msg + len, "\1x\4evil\0", 8, DNS_A, "\1\2\3\4", 4);
	ok(dns_reply_parse(msg, len, 0x1234, &n, DNS_A, &r) == 0 && r.n == 0,
	   "the address of somebody else");
	len = reply(msg, "a.test", 1);
	len += record(msg + len, "\xc0\x0c", 2, DNS_CNAME, "\xc0\x0c", 2);
	ok(dns_reply_parse(msg, len, 0x1234, &n, DNS_A, &r) == 0 && r.n == 0, "an alias of itself");
	len = reply(msg, "a.test", 1);
	msg[len] = 0xc0;
	msg[len + 1] = (uint8_t)len;
	ok(dns_reply_parse(msg, len + 2, 0x1234, &n, DNS_A, &r) < 0, "a pointer to itself");
	len = reply(msg, "a.test", 0);
	msg[3] = 0x83;
	ok(dns_reply_parse(msg, len, 0x1234, &n, DNS_A, &r) == 0 && r.code == DNS_NO_NAME,
	   "no such name");
	msg[2] |= 2;
	ok(dns_reply_parse(msg, len, 0x1234, &n, DNS_A, &r) == 0 && r.is_truncated, "truncated");
}

static void synthetic(void)
{
	struct synthetic *s = synthetic_new();
	struct address a, b;
	struct name n = name_of("example.org"), back;
	char text[ADDRESS_TEXT_SIZE], many[32];
	unsigned bad = 0;

	is_int(synthetic_address(s, &n, false, &a), 0, "an address");
	is_str(address_text(&a, text), "198.18.0.1", "the first");
	is_int(synthetic_address(s, &n, true, &b), 0, "another of IPv6");
	is_str(address_text(&b, text), "fd70:6966:6f6c:6400::1", "with the same number");
	ok(synthetic_name(s, &a, &back) && name_equal(&n, &back), "the name again");
	ok(synthetic_name(s, &b, &back) && name_equal(&n, &back), "by both");
	ok(synthetic_address(s, &n, false, &b) == 0 && address_equal(&a, &b), "it stays");
	for (unsigned i = 1; i < SYNTHETIC_NAMES_MAX; i++) {
		snprintf(many, sizeof(many), "n%u.test", i);
		n = name_of(many);
		bad += synthetic_address(s, &n, false, &a) != 0 || !synthetic_name(s, &a, &back) ||
		       !name_equal(&n, &back);
	}
	is_int(bad, 0, "4096 names");
	is_int(synthetic_count(s), SYNTHETIC_NAMES_MAX, "all counted");
	n = name_of("one-more.test");
	is_int(synthetic_address(s, &n, false, &a), -ENOSPC, "and no more");
	ok(!synthetic_name(s, &(struct address){.bytes = {198, 18, 0, 0}}, &back), "number 0");
	ok(!synthetic_name(s, &(struct address){.bytes = {198, 18, 16, 1}}, &back), "one behind");
	ok(!synthetic_name(s, &(struct address){.bytes = {198, 19, 0, 1}}, &back), "beside");
	ok(!synthetic_name(s, &(struct address){.bytes = {10, 0, 0, 1}}, &back), "elsewhere");
	ok(synthetic_is(&(struct address){.bytes = {198, 19, 0, 1}}), "the whole range is ours");
	ok(!synthetic_is(&(struct address){.bytes = {198, 20, 0, 1}}), "and no more");
	synthetic_free(s);
}

static void long_names(void)
{
	struct synthetic *s = synthetic_new();
	struct address a;
	char text[NAME_SIZE];
	int r = 0;
	unsigned n = 0;

	for (; r == 0 && n < SYNTHETIC_NAMES_MAX; n++) {
		snprintf(text, sizeof(text), "%060u.%060u.%060u.%055u.test", 1000 + n, 0, 0, 0);
		for (char *at = text; *at; at++)
			*at = *at == '.' ? '.' : *at >= '0' && *at <= '9' ? (char)(*at + 49) : *at;
		struct name name = name_of(text);
		r = synthetic_address(s, &name, true, &a);
	}
	ok(r == -ENOSPC && n < 1200, "long names fill it sooner");
	synthetic_free(s);
}

int main(void)
{
	TAP_RUN(questions);
	TAP_RUN(odd_questions);
	TAP_RUN(frames);
	TAP_RUN(replies);
	TAP_RUN(synthetic);
	TAP_RUN(long_names);
	return tap_done();
}
