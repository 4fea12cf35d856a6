/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/name.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define LABEL_MAX 63

static int refuse(const char **ret_why, const char *why)
{
	*ret_why = why;
	return -EINVAL;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* By hand: no locale has a say. */
static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static int hex_value(char c)
{
	if (is_digit(c))
		return c - '0';
	c = lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_hex_number(const char *p, size_t n)
{
	if (n < 2 || p[0] != '0' || lower(p[1]) != 'x')
		return false;
	for (size_t i = 2; i < n; i++)
		if (hex_value(p[i]) < 0)
			return false;
	return true;
}

static bool is_number(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!is_digit(p[i]))
			return n > 0 && is_hex_number(p, n);
	return n > 0;
}

/* A number as inet_aton() has it: 0x is hexadecimal, 0 in front octal. false: none, or too
 * large. */
static bool read_number(const char *p, size_t n, uint64_t *ret)
{
	unsigned base = is_hex_number(p, n) ? 16 : n > 1 && p[0] == '0' ? 8 : 10;
	uint64_t value = 0;

	for (size_t i = base == 16 ? 2 : 0; i < n; i++) {
		int digit = hex_value(p[i]);

		if (digit < 0 || (unsigned)digit >= base)
			return false;
		value = value * base + (unsigned)digit;
		if (value > UINT32_MAX)
			return false;
	}
	*ret = value;
	return true;
}

/* One to four numbers; the last fills what is left of the four bytes. */
static bool read_ip4(const char *p, size_t n, struct address *ret)
{
	uint64_t part[4];
	unsigned count = 0;
	uint32_t value = 0;

	for (size_t at = 0; at <= n;) {
		const char *dot = memchr(p + at, '.', n - at);
		size_t len = dot ? (size_t)(dot - p) - at : n - at;

		if (count == 4 || len == 0 || !is_number(p + at, len) ||
		    !read_number(p + at, len, &part[count++]))
			return false;
		at += len + 1;
	}
	for (unsigned i = 0; i + 1 < count; i++) {
		if (part[i] > 255)
			return false;
		value |= (uint32_t)part[i] << (24 - 8 * i);
	}
	if (count > 1 && part[count - 1] >> (8 * (5 - count)))
		return false;
	value |= (uint32_t)part[count - 1];
	uint8_t bytes[4] = {(uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8),
			    (uint8_t)value};
	*ret = address_of_ip4(bytes);
	return true;
}

void name_of_address(const struct address *a, struct name *ret)
{
	memset(ret, 0, sizeof(*ret));
	(void)address_text(a, ret->text);
	ret->len = (uint8_t)strlen(ret->text);
	ret->kind = a->is_ip6 ? NAME_IP6 : NAME_IP4;
	ret->address = *a;
}

static int parse_ip6(const char *p, size_t n, struct name *ret, const char **ret_why)
{
	struct address a;

	if (n >= 2 && p[0] == '[') {
		if (p[n - 1] != ']')
			return refuse(ret_why, "a bracket that is not closed");
		p++;
		n -= 2;
	}
	if (memchr(p, '%', n))
		return refuse(ret_why, "an address with a zone");
	if (!memchr(p, ':', n) || !address_parse(p, n, &a))
		return refuse(ret_why, "not an address of IPv6");
	name_of_address(&a, ret);
	return 0;
}

static const char *check_label(const char *p, size_t n)
{
	if (n == 0)
		return "an empty label: two dots, or one in front";
	if (n > LABEL_MAX)
		return "a label of more than 63 bytes";
	if (p[0] == '-' || p[n - 1] == '-')
		return "a label with - at its end";
	if (p[0] == '_')
		return "a label with _ in front, which no host has";
	for (size_t i = 0; i < n; i++) {
		char c = lower(p[i]);

		if ((unsigned char)c >= 0x80)
			return "not ASCII: write it in punycode (xn--...)";
		if (!is_digit(c) && !(c >= 'a' && c <= 'z') && c != '-' && c != '_')
			return "a character that no host name has";
	}
	return NULL;
}

/* Without the root's dot by now. */
static int parse_dns(const char *p, size_t n, struct name *ret, const char **ret_why)
{
	const char *last = p;

	if (n == 0)
		return refuse(ret_why, "empty");
	if (n > NAME_LEN_MAX)
		return refuse(ret_why, "a name of more than 253 bytes");
	for (size_t at = 0; at <= n;) {
		const char *dot = memchr(p + at, '.', n - at);
		size_t len = dot ? (size_t)(dot - p) - at : n - at;
		const char *why = check_label(p + at, len);

		if (why)
			return refuse(ret_why, why);
		last = p + at;
		at += len + 1;
	}
	/* As browsers do: what ends with a number is an address, or nothing. */
	if (is_number(last, (size_t)(p + n - last)))
		return refuse(ret_why, "neither an address nor a name: it ends with a number");
	memset(ret, 0, sizeof(*ret));
	ret->kind = NAME_DNS;
	ret->len = (uint8_t)n;
	for (size_t i = 0; i < n; i++)
		ret->text[i] = lower(p[i]);
	return 0;
}

int name_parse(const char *text, size_t len, struct name *ret, const char **ret_why)
{
	struct address a;

	assert(ret && ret_why);
	if (len > 0 && (text[0] == '[' || memchr(text, ':', len)))
		return parse_ip6(text, len, ret, ret_why);
	if (len > 1 && text[len - 1] == '.')
		len--;
	if (len <= NAME_LEN_MAX && read_ip4(text, len, &a)) {
		name_of_address(&a, ret);
		return 0;
	}
	return parse_dns(text, len, ret, ret_why);
}

bool name_equal(const struct name *a, const struct name *b)
{
	return a->kind == b->kind && a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

bool name_is_local(const struct name *n)
{
	static const char *const names[] = {
		"localhost",	   "localhost4",    "localhost6",     "localhost.localdomain",
		"localdomain",	   "ip6-localhost", "ip6-loopback",   "localhost6.localdomain6",
		"ip6-allnodes",	   "ip6-localnet",  "ip6-allrouters", "localhost4.localdomain4",
		"ip6-mcastprefix",
	};
	static const char suffix[] = ".localhost";
	size_t tail = sizeof(suffix) - 1;

	if (n->kind != NAME_DNS)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(n->text, names[i]) == 0)
			return true;
	return n->len > tail && strcmp(n->text + n->len - tail, suffix) == 0;
}

static int parse_port(const char *p, size_t n, uint16_t *ret, const char **ret_why)
{
	uint32_t port = 0;

	for (size_t i = 0; i < n; i++) {
		if (!is_digit(p[i]))
			return refuse(ret_why, "a port that is no number");
		port = i < 5 ? port * 10 + (uint32_t)(p[i] - '0') : UINT32_MAX;
	}
	if (n == 0 || n > 5 || port == 0 || port > 65535)
		return refuse(ret_why, "a port that is not from 1 to 65535");
	*ret = (uint16_t)port;
	return 0;
}

int name_parse_port(const char *text, size_t len, struct name *ret, uint16_t *ret_port,
		    const char **ret_why)
{
	assert(text);
	const char *colon = len > 0 ? memrchr(text, ':', len) : NULL;
	const char *bracket = len > 0 ? memrchr(text, ']', len) : NULL;
	size_t host = len;
	uint16_t port = 0;

	/* Several colons without brackets: an address of IPv6, and no port. */
	if (colon && (bracket ? colon > bracket : memchr(text, ':', len) == colon)) {
		host = (size_t)(colon - text);
		if (parse_port(colon + 1, len - host - 1, &port, ret_why) < 0)
			return -EINVAL;
	}
	if (name_parse(text, host, ret, ret_why) < 0)
		return -EINVAL;
	*ret_port = port;
	return 0;
}
