/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/address.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <string.h>

struct range {
	uint8_t prefix[16];
	uint8_t bits;
	enum address_class class;
};

/* The first that fits counts. After the registries of IANA for special purposes; the single
 * addresses are those at which clouds answer without asking who is there. */
static const struct range ip4_ranges[] = {
	{{169, 254, 169, 254}, 32, ADDRESS_METADATA},
	{{169, 254, 169, 253}, 32, ADDRESS_METADATA}, /* AWS, names */
	{{169, 254, 170, 2}, 32, ADDRESS_METADATA},   /* AWS, containers */
	{{169, 254, 170, 23}, 32, ADDRESS_METADATA},  /* AWS, pods */
	{{100, 100, 100, 200}, 32, ADDRESS_METADATA}, /* Alibaba */
	{{192, 0, 0, 192}, 32, ADDRESS_METADATA},     /* Oracle */
	{{168, 63, 129, 16}, 32, ADDRESS_METADATA},   /* Azure; in the middle of public ones */
	{{0}, 8, ADDRESS_UNSPECIFIED},
	{{10}, 8, ADDRESS_PRIVATE},
	{{100, 64}, 10, ADDRESS_SHARED},
	{{127}, 8, ADDRESS_LOOPBACK},
	{{169, 254}, 16, ADDRESS_LINK_LOCAL},
	{{172, 16}, 12, ADDRESS_PRIVATE},
	{{192, 0, 0}, 24, ADDRESS_RESERVED},
	{{192, 0, 2}, 24, ADDRESS_DOCUMENTATION},
	{{192, 88, 99}, 24, ADDRESS_RESERVED},
	{{192, 168}, 16, ADDRESS_PRIVATE},
	{{198, 18}, 15, ADDRESS_BENCHMARK},
	{{198, 51, 100}, 24, ADDRESS_DOCUMENTATION},
	{{203, 0, 113}, 24, ADDRESS_DOCUMENTATION},
	{{224}, 4, ADDRESS_MULTICAST},
	{{255, 255, 255, 255}, 32, ADDRESS_BROADCAST},
	{{240}, 4, ADDRESS_RESERVED},
	{{0}, 0, ADDRESS_PUBLIC},
};

static const struct range ip6_ranges[] = {
	{{0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, 0x54}, 128, ADDRESS_METADATA}, /* AWS */
	{{0xfd, 0x00, 0x0e, 0xc2, [15] = 0x23}, 128, ADDRESS_METADATA},	      /* AWS, pods */
	{{0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, 0x53}, 128, ADDRESS_METADATA}, /* AWS, names */
	{{0xfd, 0x20, 0x00, 0xce, [14] = 0x02, 0x54}, 128, ADDRESS_METADATA}, /* Google */
	{{0xfd, 0x00, 0x00, 0xc1, [12] = 0xa9, 0xfe, 0xa9, 0xfe},
	 128,
	 ADDRESS_METADATA}, /* Oracle */
	{{[15] = 1}, 128, ADDRESS_LOOPBACK},
	{{0}, 128, ADDRESS_UNSPECIFIED},
	{{0xfc}, 7, ADDRESS_PRIVATE},
	{{0xfe, 0x80}, 10, ADDRESS_LINK_LOCAL},
	{{0xfe, 0xc0}, 10, ADDRESS_PRIVATE},
	{{0xff}, 8, ADDRESS_MULTICAST},
	{{0x20, 0x01, 0x0d, 0xb8}, 32, ADDRESS_DOCUMENTATION},
	{{0x3f, 0xff}, 20, ADDRESS_DOCUMENTATION},
	{{0x20, 0x01, 0x00, 0x02}, 48, ADDRESS_BENCHMARK},
	{{0x20, 0x01}, 23, ADDRESS_RESERVED},
	{{0x20}, 3, ADDRESS_PUBLIC},
	{{0}, 0, ADDRESS_RESERVED},
};

static const uint8_t mapped[12] = {[10] = 0xff, 0xff};
static const uint8_t nat64[12] = {0x00, 0x64, 0xff, 0x9b};
static const uint8_t six_to_four[2] = {0x20, 0x02};
static const uint8_t teredo[4] = {0x20, 0x01, 0x00, 0x00};
static const uint8_t zeros[12];

struct address address_of_ip4(const uint8_t bytes[4])
{
	struct address a = {.is_ip6 = false};

	memcpy(a.bytes, bytes, 4);
	return a;
}

struct address address_of_ip6(const uint8_t bytes[16])
{
	struct address a = {.is_ip6 = true};

	if (memcmp(bytes, mapped, sizeof(mapped)) == 0)
		return address_of_ip4(bytes + 12);
	memcpy(a.bytes, bytes, 16);
	return a;
}

bool address_of_sockaddr(const struct sockaddr *sa, struct address *ret, uint16_t *ret_port)
{
	if (sa->sa_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, sa, sizeof(in));
		*ret = address_of_ip4((const uint8_t *)&in.sin_addr);
		*ret_port = ntohs(in.sin_port);
		return true;
	}
	if (sa->sa_family == AF_INET6) {
		struct sockaddr_in6 in6;

		memcpy(&in6, sa, sizeof(in6));
		*ret = address_of_ip6(in6.sin6_addr.s6_addr);
		*ret_port = ntohs(in6.sin6_port);
		return true;
	}
	return false;
}

socklen_t address_to_sockaddr(const struct address *a, uint16_t port, struct sockaddr_storage *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (!a->is_ip6) {
		struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};

		memcpy(&in.sin_addr, a->bytes, 4);
		memcpy(ret, &in, sizeof(in));
		return sizeof(in);
	}
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	memcpy(&in6.sin6_addr, a->bytes, 16);
	memcpy(ret, &in6, sizeof(in6));
	return sizeof(in6);
}

bool address_parse(const char *text, size_t len, struct address *ret)
{
	char copy[INET6_ADDRSTRLEN];
	uint8_t bytes[16];

	if (len == 0 || len >= sizeof(copy) || memchr(text, '\0', len))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (inet_pton(AF_INET, copy, bytes) == 1)
		*ret = address_of_ip4(bytes);
	else if (inet_pton(AF_INET6, copy, bytes) == 1)
		*ret = address_of_ip6(bytes);
	else
		return false;
	return true;
}

const char *address_text(const struct address *a, char ret[ADDRESS_TEXT_SIZE])
{
	const char *text =
		inet_ntop(a->is_ip6 ? AF_INET6 : AF_INET, a->bytes, ret, ADDRESS_TEXT_SIZE);

	assert(text);
	return text;
}

bool address_equal(const struct address *a, const struct address *b)
{
	return a->is_ip6 == b->is_ip6 && memcmp(a->bytes, b->bytes, a->is_ip6 ? 16 : 4) == 0;
}

bool address_inner(const struct address *a, struct address *ret)
{
	if (a->is_ip6 && memcmp(a->bytes, nat64, sizeof(nat64)) == 0)
		*ret = address_of_ip4(a->bytes + 12);
	else if (a->is_ip6 && memcmp(a->bytes, six_to_four, sizeof(six_to_four)) == 0)
		*ret = address_of_ip4(a->bytes + 2);
	else
		return false;
	return true;
}

static bool is_in(const struct range *r, const uint8_t *bytes)
{
	unsigned whole = r->bits / 8, rest = r->bits % 8;

	if (memcmp(bytes, r->prefix, whole) != 0)
		return false;
	uint8_t mask = (uint8_t)(0xff00u >> rest);
	return rest == 0 || (bytes[whole] & mask) == (r->prefix[whole] & mask);
}

static enum address_class class_in(const struct range *r, const uint8_t *bytes)
{
	while (!is_in(r, bytes))
		r++;
	return r->class;
}

static enum address_class class_of_ip4(const uint8_t *bytes)
{
	return class_in(ip4_ranges, bytes);
}

/* Both ends of a Teredo tunnel count: its server, and the client, whose bits are turned over. */
static enum address_class class_of_teredo(const uint8_t *bytes)
{
	uint8_t client[4];
	enum address_class server = class_of_ip4(bytes + 4);

	for (int i = 0; i < 4; i++)
		client[i] = bytes[12 + i] ^ 0xff;
	return server != ADDRESS_PUBLIC ? server : class_of_ip4(client);
}

enum address_class address_class(const struct address *a)
{
	const uint8_t *bytes = a->bytes;

	if (!a->is_ip6)
		return class_of_ip4(bytes);
	if (memcmp(bytes, nat64, sizeof(nat64)) == 0 || memcmp(bytes, mapped, sizeof(mapped)) == 0)
		return class_of_ip4(bytes + 12);
	if (memcmp(bytes, six_to_four, sizeof(six_to_four)) == 0)
		return class_of_ip4(bytes + 2);
	if (memcmp(bytes, teredo, sizeof(teredo)) == 0)
		return class_of_teredo(bytes);
	enum address_class class = class_in(ip6_ranges, bytes);
	/* ::a.b.c.d, which nobody routes any more; the word is that of what it says. */
	if (class == ADDRESS_RESERVED && memcmp(bytes, zeros, sizeof(zeros)) == 0 &&
	    class_of_ip4(bytes + 12) != ADDRESS_PUBLIC)
		return class_of_ip4(bytes + 12);
	return class;
}

const char *address_class_name(enum address_class class)
{
	static const char *const names[ADDRESS_CLASSES] = {
		[ADDRESS_PUBLIC] = "public",
		[ADDRESS_UNSPECIFIED] = "unspecified",
		[ADDRESS_LOOPBACK] = "loopback",
		[ADDRESS_PRIVATE] = "private",
		[ADDRESS_LINK_LOCAL] = "link-local",
		[ADDRESS_METADATA] = "cloud metadata",
		[ADDRESS_SHARED] = "shared by a carrier",
		[ADDRESS_BENCHMARK] = "for benchmarks",
		[ADDRESS_DOCUMENTATION] = "for documentation",
		[ADDRESS_MULTICAST] = "multicast",
		[ADDRESS_BROADCAST] = "broadcast",
		[ADDRESS_RESERVED] = "reserved",
	};

	assert(class < ADDRESS_CLASSES);
	return names[class];
}
