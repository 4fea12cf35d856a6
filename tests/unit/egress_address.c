/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of place an address leads to, also where it carries another one. */
#include <arpa/inet.h>

#include "egress/address.h"
#include "tap.h"

static const struct {
	const char *text;
	enum address_class class;
} rows[] = {
	{"8.8.8.8", ADDRESS_PUBLIC},
	{"1.1.1.1", ADDRESS_PUBLIC},
	{"9.255.255.255", ADDRESS_PUBLIC},
	{"11.0.0.0", ADDRESS_PUBLIC},
	{"0.0.0.0", ADDRESS_UNSPECIFIED},
	{"0.1.2.3", ADDRESS_UNSPECIFIED},
	{"10.0.0.1", ADDRESS_PRIVATE},
	{"10.255.255.255", ADDRESS_PRIVATE},
	{"172.15.255.255", ADDRESS_PUBLIC},
	{"172.16.0.1", ADDRESS_PRIVATE},
	{"172.31.255.255", ADDRESS_PRIVATE},
	{"172.32.0.0", ADDRESS_PUBLIC},
	{"192.168.1.1", ADDRESS_PRIVATE},
	{"192.167.255.255", ADDRESS_PUBLIC},
	{"127.0.0.1", ADDRESS_LOOPBACK},
	{"127.255.255.254", ADDRESS_LOOPBACK},
	{"169.254.0.1", ADDRESS_LINK_LOCAL},
	{"169.254.169.254", ADDRESS_METADATA},
	{"169.254.170.2", ADDRESS_METADATA},
	{"100.100.100.200", ADDRESS_METADATA},
	{"168.63.129.16", ADDRESS_METADATA},
	{"192.0.0.192", ADDRESS_METADATA},
	{"100.64.0.1", ADDRESS_SHARED},
	{"100.127.255.255", ADDRESS_SHARED},
	{"100.128.0.0", ADDRESS_PUBLIC},
	{"100.63.255.255", ADDRESS_PUBLIC},
	{"198.18.0.1", ADDRESS_BENCHMARK},
	{"198.19.255.255", ADDRESS_BENCHMARK},
	{"198.20.0.0", ADDRESS_PUBLIC},
	{"192.0.2.1", ADDRESS_DOCUMENTATION},
	{"198.51.100.1", ADDRESS_DOCUMENTATION},
	{"203.0.113.5", ADDRESS_DOCUMENTATION},
	{"224.0.0.1", ADDRESS_MULTICAST},
	{"239.255.255.255", ADDRESS_MULTICAST},
	{"240.0.0.1", ADDRESS_RESERVED},
	{"255.255.255.255", ADDRESS_BROADCAST},
	{"192.0.0.1", ADDRESS_RESERVED},
	{"192.88.99.1", ADDRESS_RESERVED},
	{"2606:4700::1111", ADDRESS_PUBLIC},
	{"2a00:1450:4001::200e", ADDRESS_PUBLIC},
	{"::", ADDRESS_UNSPECIFIED},
	{"::1", ADDRESS_LOOPBACK},
	{"::2", ADDRESS_UNSPECIFIED}, /* says 0.0.0.2 */
	{"fc00::1", ADDRESS_PRIVATE},
	{"fd12:3456::1", ADDRESS_PRIVATE},
	{"fec0::1", ADDRESS_PRIVATE},
	{"fd00:ec2::254", ADDRESS_METADATA},
	{"fd00:ec2::23", ADDRESS_METADATA},
	{"fd20:ce::254", ADDRESS_METADATA},
	{"fd00:c1::a9fe:a9fe", ADDRESS_METADATA},
	{"fe80::1", ADDRESS_LINK_LOCAL},
	{"febf::1", ADDRESS_LINK_LOCAL},
	{"ff02::1", ADDRESS_MULTICAST},
	{"2001:db8::1", ADDRESS_DOCUMENTATION},
	{"3fff::1", ADDRESS_DOCUMENTATION},
	{"3fff:1000::1", ADDRESS_PUBLIC},
	{"2001:2::1", ADDRESS_BENCHMARK},
	{"2001:10::1", ADDRESS_RESERVED},
	{"100::1", ADDRESS_RESERVED},
	{"5f00::1", ADDRESS_RESERVED},
	{"4000::1", ADDRESS_RESERVED},
	/* those that carry another */
	{"::ffff:127.0.0.1", ADDRESS_LOOPBACK},
	{"::ffff:8.8.8.8", ADDRESS_PUBLIC},
	{"::ffff:169.254.169.254", ADDRESS_METADATA},
	{"::127.0.0.1", ADDRESS_LOOPBACK},
	{"::8.8.8.8", ADDRESS_RESERVED},
	{"::ffff:0:127.0.0.1", ADDRESS_RESERVED},
	{"64:ff9b::127.0.0.1", ADDRESS_LOOPBACK},
	{"64:ff9b::10.0.0.1", ADDRESS_PRIVATE},
	{"64:ff9b::169.254.169.254", ADDRESS_METADATA},
	{"64:ff9b::8.8.8.8", ADDRESS_PUBLIC},
	{"64:ff9b:1::8.8.8.8", ADDRESS_RESERVED},
	{"2002:7f00:1::", ADDRESS_LOOPBACK},
	{"2002:a00:1::1", ADDRESS_PRIVATE},
	{"2002:a9fe:a9fe::", ADDRESS_METADATA},
	{"2002:808:808::", ADDRESS_PUBLIC},
	{"2001:0:808:808::80ff:fffe", ADDRESS_LOOPBACK}, /* client 127.0.0.1 */
	{"2001:0:7f00:1::f7f7:f7f7", ADDRESS_LOOPBACK},	 /* server 127.0.0.1 */
	{"2001:0:808:808::f7f7:f7f7", ADDRESS_PUBLIC},	 /* both 8.8.8.8 */
	{"2001:0:808:808::f5ff:fffe", ADDRESS_PRIVATE},	 /* client 10.0.0.1 */
};

static void classes(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct address a;
		char line[120];

		snprintf(line, sizeof(line), "%s is %s", rows[i].text,
			 address_class_name(rows[i].class));
		if (!ok(address_parse(rows[i].text, strlen(rows[i].text), &a) &&
				address_class(&a) == rows[i].class,
			line))
			diag("got %s", address_class_name(address_class(&a)));
	}
}

static void sockets(void)
{
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(443)};
	struct sockaddr unix_socket = {.sa_family = AF_UNIX};
	struct sockaddr_storage back;
	char text[ADDRESS_TEXT_SIZE];
	struct address a;
	uint16_t port = 0;

	inet_pton(AF_INET6, "::ffff:10.1.2.3", &in6.sin6_addr);
	ok(address_of_sockaddr((struct sockaddr *)&in6, &a, &port), "a socket's address");
	ok(!a.is_ip6 && port == 443, "mapped becomes IPv4");
	is_str(address_text(&a, text), "10.1.2.3", "and is written so");
	is_int(address_to_sockaddr(&a, 80, &back), sizeof(struct sockaddr_in), "and connected so");
	ok(address_of_sockaddr((struct sockaddr *)&back, &a, &port) && port == 80, "and back");
	ok(!address_of_sockaddr(&unix_socket, &a, &port), "another family is none");
}

static void spellings(void)
{
	static const char *const bad[] = {"",		"1",	    "127.1",	  "0x7f.0.0.1",
					  "0177.0.0.1", "[::1]",    "fe80::1%lo", "1.2.3.4 ",
					  "::1::",	"1.2.3.4.5"};
	struct address a;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(!address_parse(bad[i], strlen(bad[i]), &a), bad[i]);
	ok(!address_parse("1.2.3.4\0", 8, &a), "NUL");
}

int main(void)
{
	TAP_RUN(classes);
	TAP_RUN(sockets);
	TAP_RUN(spellings);
	return tap_done();
}
