/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts: one text for one place, addresses in every spelling, and what is no host at all. */
#include <arpa/inet.h>
#include <ctype.h>

#include "egress/name.h"
#include "tap.h"

struct row {
	const char *text;
	const char *want; /* NULL: refused */
	enum name_kind kind;
};

#define BYTES_63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct row rows[] = {
	{"example.org", "example.org", NAME_DNS},
	{"EXAMPLE.Org", "example.org", NAME_DNS},
	{"example.org.", "example.org", NAME_DNS},
	{"a", "a", NAME_DNS},
	{"xn--bcher-kva.example", "xn--bcher-kva.example", NAME_DNS},
	{"my_bucket.example.org", "my_bucket.example.org", NAME_DNS},
	{"r3---sn-abc.example.org", "r3---sn-abc.example.org", NAME_DNS},
	{"1e100.net", "1e100.net", NAME_DNS},
	{"0x7f.example", "0x7f.example", NAME_DNS},
	{"127.0.0.1.example.org", "127.0.0.1.example.org", NAME_DNS},
	{BYTES_63 ".org", BYTES_63 ".org", NAME_DNS},
	/* what inet_aton() and browsers take for 127.0.0.1 and other places */
	{"127.0.0.1", "127.0.0.1", NAME_IP4},
	{"127.0.0.1.", "127.0.0.1", NAME_IP4},
	{"2130706433", "127.0.0.1", NAME_IP4},
	{"0x7f000001", "127.0.0.1", NAME_IP4},
	{"0X7F000001", "127.0.0.1", NAME_IP4},
	{"017700000001", "127.0.0.1", NAME_IP4},
	{"0177.0.0.1", "127.0.0.1", NAME_IP4},
	{"0177.0.0.01", "127.0.0.1", NAME_IP4},
	{"0x7f.0.0.1", "127.0.0.1", NAME_IP4},
	{"0x7f.0x0.0x0.0x1", "127.0.0.1", NAME_IP4},
	{"127.1", "127.0.0.1", NAME_IP4},
	{"127.0.1", "127.0.0.1", NAME_IP4},
	{"127.0x1", "127.0.0.1", NAME_IP4},
	{"0", "0.0.0.0", NAME_IP4},
	{"0x", "0.0.0.0", NAME_IP4},
	{"0.0.0.0", "0.0.0.0", NAME_IP4},
	{"1", "0.0.0.1", NAME_IP4},
	{"169.254.169.254", "169.254.169.254", NAME_IP4},
	{"2852039166", "169.254.169.254", NAME_IP4},
	{"0xa9fea9fe", "169.254.169.254", NAME_IP4},
	{"0xA9.0xFE.43518", "169.254.169.254", NAME_IP4},
	{"0251.0376.0251.0376", "169.254.169.254", NAME_IP4},
	{"4294967295", "255.255.255.255", NAME_IP4},
	{"[::1]", "::1", NAME_IP6},
	{"::1", "::1", NAME_IP6},
	{"0:0:0:0:0:0:0:1", "::1", NAME_IP6},
	{"[2001:DB8::1]", "2001:db8::1", NAME_IP6},
	{"[2001:0db8:0000::0001]", "2001:db8::1", NAME_IP6},
	{"[::ffff:127.0.0.1]", "127.0.0.1", NAME_IP4},
	{"::ffff:7f00:1", "127.0.0.1", NAME_IP4},
	{"[::ffff:a9fe:a9fe]", "169.254.169.254", NAME_IP4},
	{"[64:ff9b::127.0.0.1]", "64:ff9b::7f00:1", NAME_IP6},
	{"[::127.0.0.1]", "::127.0.0.1", NAME_IP6},
	{"[2002:7f00:1::]", "2002:7f00:1::", NAME_IP6},
	/* neither */
	{"", NULL, 0},
	{".", NULL, 0},
	{"..", NULL, 0},
	{".example.org", NULL, 0},
	{"example..org", NULL, 0},
	{"example.org..", NULL, 0},
	{"example .org", NULL, 0},
	{" example.org", NULL, 0},
	{"example.org ", NULL, 0},
	{"example.org\n", NULL, 0},
	{"example.org\t", NULL, 0},
	{"example.org\r\nX: y", NULL, 0},
	{"example.org/", NULL, 0},
	{"example.org\\", NULL, 0},
	{"example.org#", NULL, 0},
	{"example.org?", NULL, 0},
	{"example.org%00", NULL, 0},
	{"example.org%2f", NULL, 0},
	{"user@example.org", NULL, 0},
	{"example.org@evil.test", NULL, 0},
	{"*.example.org", NULL, 0},
	{"*", NULL, 0},
	{"-a.example", NULL, 0},
	{"a-.example", NULL, 0},
	{"_dmarc.example.org", NULL, 0},
	{"a._tcp.example.org", NULL, 0},
	{BYTES_63 "a.org", NULL, 0},
	{"b\xc3\xbc"
	 "cher.example",
	 NULL, 0},
	{"example\xe3\x80\x82org", NULL, 0},
	{"\xef\xbd\x85xample.org", NULL, 0},
	{"example\xe2\x80\x8b.org", NULL, 0},
	{"1.2.3.4.5", NULL, 0},
	{"256.0.0.1", NULL, 0},
	{"1.2.3.256", NULL, 0},
	{"4294967296", NULL, 0},
	{"99999999999999999999", NULL, 0},
	{"0x100000000", NULL, 0},
	{"08.0.0.1", NULL, 0},
	{"1..2", NULL, 0},
	{"example.0x7f", NULL, 0},
	{"example.1", NULL, 0},
	{"0x7g.1", NULL, 0},
	{"127.0.0.1 ", NULL, 0},
	{"[::1", NULL, 0},
	{"::1]", NULL, 0},
	{"[]", NULL, 0},
	{"[127.0.0.1]", NULL, 0},
	{"[example.org]", NULL, 0},
	{"[fe80::1%eth0]", NULL, 0},
	{"fe80::1%25eth0", NULL, 0},
	{"::ffff:127.1", NULL, 0},
	{"1:2:3:4:5:6:7:8:9", NULL, 0},
	{":", NULL, 0},
	{"example.org:443", NULL, 0},
};

static void table(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		const char *why = NULL;
		struct name n;
		int result = name_parse(r->text, strlen(r->text), &n, &why);
		char line[400];

		snprintf(line, sizeof(line), "row %zu is %s", i, r->want ? r->want : "refused");
		if (r->want)
			ok(result == 0 && strcmp(n.text, r->want) == 0 && n.kind == r->kind &&
				   n.len == strlen(r->want),
			   line);
		else
			ok(result == -EINVAL && why && *why, line);
	}
}

static void lengths(void)
{
	const char *why = NULL;
	char text[300];
	struct name n;

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = i % 2 ? '.' : 'a';
	is_int(name_parse(text, 253, &n, &why), 0, "253 bytes are a name");
	is_int(name_parse(text, 254, &n, &why), 0, "with the root's dot they are 254");
	is_int(name_parse(text, 255, &n, &why), -EINVAL, "255 are none");
	is_int(name_parse("a\0b.example", 11, &n, &why), -EINVAL, "NUL");
	is_int(name_parse("example.org\0.evil.test", 22, &n, &why), -EINVAL, "NUL behind a name");
}

static void ports(const char *text, const char *host, int port)
{
	const char *why = NULL;
	uint16_t got = 0;
	struct name n;
	int r = name_parse_port(text, strlen(text), &n, &got, &why);

	ok(host ? r == 0 && !strcmp(n.text, host) && got == port : r < 0 && why, text);
}

static void with_ports(void)
{
	ports("example.org:443", "example.org", 443);
	ports("example.org", "example.org", 0);
	ports("[::1]:8080", "::1", 8080);
	ports("[::1]", "::1", 0);
	ports("2001:db8::1", "2001:db8::1", 0);
	ports("127.1:80", "127.0.0.1", 80);
	ports("example.org:", NULL, 0);
	ports("example.org:0", NULL, 0);
	ports("example.org:65536", NULL, 0);
	ports("example.org:4294967739", NULL, 0);
	ports("example.org:+80", NULL, 0);
	ports("example.org: 80", NULL, 0);
	ports("example.org:80:80", NULL, 0);
	ports("example.org:http", NULL, 0);
	ports(":80", NULL, 0);
	ports("", NULL, 0);
}

static void local(void)
{
	static const char *const yes[] = {"localhost", "LOCALHOST.", "a.localhost", "ip6-localhost",
					  "localhost.localdomain"};
	static const char *const no[] = {"localhost.example.org", "notlocalhost", "127.0.0.1"};
	const char *why = NULL;
	struct name n;

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		ok(name_parse(yes[i], strlen(yes[i]), &n, &why) == 0 && name_is_local(&n), yes[i]);
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		ok(name_parse(no[i], strlen(no[i]), &n, &why) == 0 && !name_is_local(&n), no[i]);
}

static void put_dot(char *to, size_t size)
{
	(void)snprintf(to + strlen(to), size - strlen(to), ".");
}

/* One number in one of the ways that inet_aton() knows. */
static void put_number(char *to, size_t size, uint32_t value, unsigned how)
{
	static const char *const front[] = {"", "0x", "0X", "0", "000", "0x0000"};
	size_t n = strlen(to);

	if (how == 0)
		(void)snprintf(to + n, size - n, "%u", value);
	else if (how == 2)
		(void)snprintf(to + n, size - n, "%s%X", front[how], value);
	else if (how == 3 || how == 4)
		(void)snprintf(to + n, size - n, "%s%o", front[how], value);
	else
		(void)snprintf(to + n, size - n, "%s%x", front[how], value);
}

/* `n` parts of an address, the last of which has all that is left, in the ways that `how` says. */
static void spell(uint32_t ip, unsigned n, unsigned how, char *to, size_t size)
{
	*to = '\0';
	for (unsigned i = 0; i < n; i++, how /= 6) {
		uint32_t left = i ? ip << (8 * i) >> (8 * i) : ip;

		put_number(to, size, i + 1 < n ? left >> (24 - 8 * i) : left, how % 6);
		if (i + 1 < n)
			put_dot(to, size);
	}
}

static void spellings(void)
{
	static const uint32_t ips[] = {0x7f000001, 0xa9fea9fe, 0x0a000001, 0xc0a80101, 0xc6336401,
				       0,	   0xffffffff, 0x64400001, 0x7f010203};

	for (size_t k = 0; k < sizeof(ips) / sizeof(ips[0]); k++) {
		unsigned bad = 0, ways = 1;
		char text[100], want[20];
		const char *why = NULL;
		struct name n;

		snprintf(want, sizeof(want), "%u.%u.%u.%u", ips[k] >> 24, ips[k] >> 16 & 255,
			 ips[k] >> 8 & 255, ips[k] & 255);
		for (unsigned parts = 1; parts <= 4; parts++) {
			ways *= 6;
			for (unsigned how = 0; how < 2 * ways; how++) {
				spell(ips[k], parts, how % ways, text, sizeof(text));
				if (how >= ways)
					put_dot(text, sizeof(text));
				bad += name_parse(text, strlen(text), &n, &why) < 0 ||
				       n.kind != NAME_IP4 || strcmp(n.text, want) != 0;
			}
		}
		is_int(bad, 0, want);
	}
}

/* Whatever libc takes for an address is that address, or nothing. */
static void as_libc(void)
{
	static const char digits[] = "0123456789abfxX..0017", digits6[] = "0123f:::::fF.[]%";
	unsigned bad = 0, same = 0, same6 = 0;
	uint32_t random = 1;
	const char *why = NULL;
	struct name n;

	for (unsigned k = 0; k < 400000; k++) {
		bool is6 = k & 1;
		const char *from = is6 ? digits6 : digits;
		size_t len = 1 + (random >> 8) % 15;
		char text[20] = "";
		uint8_t ip[16];

		for (size_t i = 0; i < len; i++) {
			random = random * 1664525u + 1013904223u;
			text[i] = from[(random >> 16) % strlen(from)];
		}
		if (is6 ? inet_pton(AF_INET6, text, ip) != 1 : !inet_aton(text, (void *)ip))
			continue;
		struct address want = is6 ? address_of_ip6(ip) : address_of_ip4(ip);
		int r = name_parse(text, len, &n, &why);
		bad += r == 0 && (n.kind == NAME_DNS || !address_equal(&n.address, &want));
		same += r == 0 && !is6;
		same6 += r == 0 && is6;
	}
	is_int(bad, 0, "none is taken for another, or for a name");
	ok(same > 1000 && same6 > 1000, "and most are known");
}

/* Every byte that no host has, in front of, behind and within one. */
static void bytes(void)
{
	static const char *const around[] = {"%good.test",	     "good.test%",
					     "good%.test",	     "evil.test%good.test",
					     "good.test%evil.test",  "evil.test%.good.test",
					     "good.test%.evil.test", "127.0.0.1%",
					     "127.0.0.1%good.test"};
	unsigned bad = 0;

	for (unsigned c = 0; c < 256; c++) {
		if (isascii((int)c) && (isalnum((int)c) || strchr("-_.", (int)c)) && c != 0)
			continue;
		for (size_t i = 0; i < sizeof(around) / sizeof(around[0]); i++) {
			const char *why = NULL;
			char text[64];
			struct name n;

			snprintf(text, sizeof(text), "%s", around[i]);
			*strchr(text, '%') = (char)c;
			bad += name_parse(text, strlen(around[i]), &n, &why) == 0;
		}
	}
	is_int(bad, 0, "none makes a name");
}

int main(void)
{
	TAP_RUN(spellings);
	TAP_RUN(as_libc);
	TAP_RUN(bytes);
	TAP_RUN(table);
	TAP_RUN(lengths);
	TAP_RUN(with_ports);
	TAP_RUN(local);
	return tap_done();
}
