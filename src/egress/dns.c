/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/dns.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define HEAD_LEN 12u
#define CLASS_IN 1u
#define LABEL_MAX 63u
#define TEXT_SIZE 256u /* of a name with dots, and NUL */
#define RECORDS_MAX 64u
#define HOPS_MAX 8u
#define POINTERS_MAX 16u

/* First two bytes of flags. */
#define FLAG_RESPONSE 0x8000u
#define FLAG_OPCODE 0x7800u
#define FLAG_TRUNCATED 0x0200u
#define FLAG_WANTS_RECURSION 0x0100u
#define FLAG_HAS_RECURSION 0x0080u
#define FLAG_CODE 0x000fu

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

static uint8_t *put16(uint8_t *p, unsigned value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
	return p + 2;
}

static char lower(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : (char)c;
}

static int fail(const char **ret_why, const char *why, int code)
{
	*ret_why = why;
	return code;
}

/* The name of a question: labels without any pointer. Its bytes with the last zero, or 0. Where a
 * label has a dot or NUL in it, the text is "", which is no host. */
static size_t read_question_name(const uint8_t *p, size_t len, char text[TEXT_SIZE])
{
	size_t at = 0, n = 0;
	bool is_odd = false;

	while (at < len && p[at] != 0) {
		size_t label = p[at];

		if (label > LABEL_MAX || at + 1 + label >= len || at + 1 + label > 254)
			return 0;
		if (n)
			text[n++] = '.';
		for (size_t i = 1; i <= label; i++) {
			is_odd |= p[at + i] == '.' || p[at + i] == '\0';
			text[n++] = (char)p[at + i];
		}
		at += 1 + label;
	}
	text[is_odd ? 0 : n] = '\0';
	return at < len ? at + 1 : 0;
}

/* Behind the question there may be one OPT record that fills the rest, and nothing else. */
static bool is_rest_edns(const uint8_t *p, size_t len, unsigned n)
{
	if (n == 0)
		return len == 0;
	return n == 1 && len >= 11 && p[0] == 0 && get16(p + 1) == DNS_OPT &&
	       len == 11u + get16(p + 9);
}

int dns_query_parse(const void *msg, size_t len, struct dns_query *ret, const char **ret_why)
{
	const uint8_t *p = msg;
	char text[TEXT_SIZE];

	memset(ret, 0, sizeof(*ret));
	if (len < HEAD_LEN || get16(p + 2) & FLAG_RESPONSE)
		return fail(ret_why, "no question", -EBADMSG);
	ret->id = get16(p);
	ret->wants_recursion = get16(p + 2) & FLAG_WANTS_RECURSION;
	if (len > DNS_QUERY_MAX)
		return fail(ret_why, "a question of more than 512 bytes", DNS_FORMAT_ERROR);
	if (get16(p + 2) & FLAG_OPCODE)
		return fail(ret_why, "not a query", DNS_NOT_IMPLEMENTED);
	if (get16(p + 2) & FLAG_TRUNCATED || get16(p + 4) != 1 || get16(p + 6) || get16(p + 8))
		return fail(ret_why, "not one question alone", DNS_FORMAT_ERROR);
	size_t used = read_question_name(p + HEAD_LEN, len - HEAD_LEN, text);
	if (used == 0 || len - HEAD_LEN - used < 4)
		return fail(ret_why, "a question that is cut or compressed", DNS_FORMAT_ERROR);
	const uint8_t *tail = p + HEAD_LEN + used;
	if (!is_rest_edns(tail + 4, (size_t)(p + len - tail) - 4, get16(p + 10)))
		return fail(ret_why, "something behind the question", DNS_FORMAT_ERROR);
	memcpy(ret->question, p + HEAD_LEN, used + 4);
	ret->question_len = (uint16_t)(used + 4);
	ret->type = get16(tail);
	if (get16(tail + 2) != CLASS_IN)
		return fail(ret_why, "not of the Internet's class", DNS_REFUSED);
	if (name_parse(text, strlen(text), &ret->name, ret_why) < 0)
		return DNS_NO_NAME;
	if (ret->name.kind != NAME_DNS)
		return fail(ret_why, "an address, not a name", DNS_NO_NAME);
	return 0;
}

static uint8_t *answer_head(const struct dns_query *q, enum dns_code code, unsigned n, uint8_t *to)
{
	unsigned flags = FLAG_RESPONSE | FLAG_HAS_RECURSION | code;

	to = put16(to, q->id);
	to = put16(to, flags | (q->wants_recursion ? FLAG_WANTS_RECURSION : 0));
	to = put16(to, q->question_len ? 1 : 0);
	to = put16(to, n);
	to = put16(to, 0);
	to = put16(to, 0);
	memcpy(to, q->question, q->question_len);
	return to + q->question_len;
}

size_t dns_answer(const struct dns_query *q, const struct address *list, unsigned n,
		  uint8_t ret[DNS_ANSWER_MAX])
{
	uint8_t *to = answer_head(q, DNS_OK, 0, ret);
	unsigned count = 0;

	assert(q->question_len >= 5);
	for (unsigned i = 0; i < n; i++) {
		unsigned size = list[i].is_ip6 ? 16 : 4;

		if (q->type != (list[i].is_ip6 ? DNS_AAAA : DNS_A))
			continue;
		if ((size_t)(to - ret) + 12 + size > DNS_ANSWER_MAX)
			break;
		to = put16(to, 0xc000u | HEAD_LEN);
		to = put16(to, q->type);
		to = put16(to, CLASS_IN);
		to = put16(put16(to, 0), 0);
		to = put16(to, size);
		memcpy(to, list[i].bytes, size);
		to += size;
		count++;
	}
	(void)put16(ret + 6, count);
	return (size_t)(to - ret);
}

size_t dns_answer_code(const struct dns_query *q, enum dns_code code, uint8_t ret[DNS_ANSWER_MAX])
{
	return (size_t)(answer_head(q, code, 0, ret) - ret);
}

int dns_frame(const uint8_t *buf, size_t len, size_t max)
{
	if (len < 2)
		return 0;
	size_t n = get16(buf);
	if (n == 0 || n > max)
		return -EBADMSG;
	return len - 2 < n ? 0 : (int)n;
}

size_t dns_ask(uint16_t id, const struct name *name, enum dns_type type, uint8_t ret[DNS_QUERY_MAX])
{
	uint8_t *to = ret;

	assert(name->kind == NAME_DNS && name->len > 0);
	to = put16(to, id);
	to = put16(to, FLAG_WANTS_RECURSION);
	to = put16(put16(put16(put16(to, 1), 0), 0), 1);
	for (const char *at = name->text; *at; at += *at == '.') {
		size_t n = strcspn(at, ".");

		*to++ = (uint8_t)n;
		memcpy(to, at, n);
		to += n;
		at += n;
	}
	*to++ = 0;
	to = put16(put16(to, type), CLASS_IN);
	*to++ = 0;
	to = put16(put16(to, DNS_OPT), DNS_REPLY_MAX);
	to = put16(put16(put16(to, 0), 0), 0);
	return (size_t)(to - ret);
}

/* A server's message, and where in it we are. */
struct cursor {
	const uint8_t *msg;
	size_t len, at;
};

/* A name that may point back, in lower case. false: cut, too long, or going round. A label with a
 * dot or NUL in it makes a text that no name has. */
static bool read_name(struct cursor *c, char text[TEXT_SIZE])
{
	size_t at = c->at, n = 0;
	unsigned pointers = 0;

	for (;;) {
		if (at >= c->len)
			return false;
		size_t label = c->msg[at];
		if ((label & 0xc0) == 0xc0) {
			if (at + 1 >= c->len || ++pointers > POINTERS_MAX)
				return false;
			if (pointers == 1)
				c->at = at + 2;
			at = (label & 0x3f) << 8 | c->msg[at + 1];
			continue;
		}
		if (label > LABEL_MAX || at + 1 + label > c->len)
			return false;
		if (label == 0)
			break;
		if (n + label + 2 > TEXT_SIZE)
			return false;
		if (n)
			text[n++] = '.';
		for (size_t i = 1; i <= label; i++) {
			char ch = lower(c->msg[at + i]);

			text[n++] = ch == '.' || ch == '\0' ? '?' : ch;
		}
		at += 1 + label;
	}
	text[n] = '\0';
	if (pointers == 0)
		c->at = at + 1;
	return true;
}

struct record {
	char owner[TEXT_SIZE];
	uint16_t type, class, size;
	uint32_t ttl;
	size_t data;
};

static bool read_record(struct cursor *c, struct record *ret)
{
	if (!read_name(c, ret->owner) || c->len - c->at < 10)
		return false;
	const uint8_t *p = c->msg + c->at;
	ret->type = get16(p);
	ret->class = get16(p + 2);
	ret->ttl = get32(p + 4);
	ret->size = get16(p + 8);
	ret->data = c->at + 10;
	c->at += 10;
	if (c->len - c->at < ret->size)
		return false;
	c->at += ret->size;
	return true;
}

static void take_address(const struct cursor *c, const struct record *r, struct dns_reply *ret)
{
	if (ret->n == DNS_ADDRESSES_MAX)
		return;
	if (r->type == DNS_A && r->size == 4)
		ret->list[ret->n++] = address_of_ip4(c->msg + r->data);
	else if (r->type == DNS_AAAA && r->size == 16)
		ret->list[ret->n++] = address_of_ip6(c->msg + r->data);
}

/* All records of `owner`: its addresses go into *ret; an alias becomes the next owner. < 0: the
 * message is broken. 1: there is an alias. */
static int read_owner(struct cursor c, unsigned n, char owner[TEXT_SIZE], enum dns_type type,
		      struct dns_reply *ret)
{
	char alias[TEXT_SIZE] = "";
	struct record r;

	for (unsigned i = 0; i < n; i++) {
		if (!read_record(&c, &r))
			return -EBADMSG;
		if (r.class != CLASS_IN || strcmp(r.owner, owner) != 0)
			continue;
		if (r.type == (uint16_t)type)
			take_address(&c, &r, ret);
		struct cursor inside = {c.msg, c.len, r.data};
		if (r.type == DNS_CNAME && !read_name(&inside, alias))
			return -EBADMSG;
		if ((r.type == (uint16_t)type || r.type == DNS_CNAME) && r.ttl < ret->ttl_s)
			ret->ttl_s = r.ttl;
	}
	if (!*alias)
		return 0;
	memcpy(owner, alias, TEXT_SIZE);
	return 1;
}

int dns_reply_parse(const void *msg, size_t len, uint16_t id, const struct name *name,
		    enum dns_type type, struct dns_reply *ret)
{
	const uint8_t *p = msg;
	struct cursor c = {.msg = msg, .len = len, .at = HEAD_LEN};
	char owner[TEXT_SIZE];
	int alias = 1;

	memset(ret, 0, sizeof(*ret));
	ret->ttl_s = UINT32_MAX;
	if (len < HEAD_LEN || len > UINT16_MAX || get16(p) != id ||
	    !(get16(p + 2) & FLAG_RESPONSE) || get16(p + 2) & FLAG_OPCODE || get16(p + 4) != 1)
		return -EBADMSG;
	/* The question must be ours, word for word. */
	if (!read_name(&c, owner) || strcmp(owner, name->text) != 0 || c.len - c.at < 4 ||
	    get16(p + c.at) != (uint16_t)type || get16(p + c.at + 2) != CLASS_IN)
		return -EBADMSG;
	c.at += 4;
	ret->code = get16(p + 2) & FLAG_CODE;
	ret->is_truncated = get16(p + 2) & FLAG_TRUNCATED;
	unsigned n = get16(p + 6);
	if (n > RECORDS_MAX)
		return -EBADMSG;
	if (ret->code != DNS_OK || ret->is_truncated)
		n = 0;
	for (unsigned hop = 0; alias == 1 && hop < HOPS_MAX; hop++)
		alias = read_owner(c, n, owner, type, ret);
	if (ret->n == 0)
		ret->ttl_s = 0;
	return alias < 0 ? alias : 0;
}
