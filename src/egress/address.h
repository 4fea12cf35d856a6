/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses and what kind of place they lead to. Pure.
 *
 * An IPv4 address that comes dressed as IPv6 (::ffff:a.b.c.d) is IPv4 here from the start, because
 * the kernel connects to it as such. Addresses that carry another one (6to4, Teredo, NAT64) are
 * judged by what they carry: whoever translates them ends there.
 */
#ifndef EGRESS_ADDRESS_H
#define EGRESS_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define ADDRESS_TEXT_SIZE 48

struct address {
	bool is_ip6;
	uint8_t bytes[16]; /* network order; of IPv4 the first four, the rest is 0 */
};

enum address_class {
	ADDRESS_PUBLIC,
	ADDRESS_UNSPECIFIED,   /* 0.0.0.0/8, :: */
	ADDRESS_LOOPBACK,      /* 127.0.0.0/8, ::1 */
	ADDRESS_PRIVATE,       /* 10/8, 172.16/12, 192.168/16, fc00::/7, fec0::/10 */
	ADDRESS_LINK_LOCAL,    /* 169.254/16, fe80::/10 */
	ADDRESS_METADATA,      /* where clouds tell a machine its secrets */
	ADDRESS_SHARED,	       /* 100.64/10, of carriers */
	ADDRESS_BENCHMARK,     /* 198.18/15, 2001:2::/48; synthetic addresses are from there */
	ADDRESS_DOCUMENTATION, /* 192.0.2/24, 198.51.100/24, 203.0.113/24, 2001:db8::/32, 3fff::/20 */
	ADDRESS_MULTICAST,     /* 224/4, ff00::/8 */
	ADDRESS_BROADCAST,     /* 255.255.255.255 */
	ADDRESS_RESERVED,      /* whatever else is no place of the Internet */
	ADDRESS_CLASSES
};

struct address address_of_ip4(const uint8_t bytes[4]);
/* ::ffff:a.b.c.d becomes IPv4. */
struct address address_of_ip6(const uint8_t bytes[16]);
/* false: the family is another. */
bool address_of_sockaddr(const struct sockaddr *sa, struct address *ret, uint16_t *ret_port);
/* Returns the length. */
socklen_t address_to_sockaddr(const struct address *a, uint16_t port, struct sockaddr_storage *ret);

/* The usual text only: four decimal numbers, or IPv6 without brackets and zone. Other spellings
 * are egress/name.h's. */
bool address_parse(const char *text, size_t len, struct address *ret);
/* One text for one address. Returns `ret`. */
const char *address_text(const struct address *a, char ret[ADDRESS_TEXT_SIZE]);
bool address_equal(const struct address *a, const struct address *b);

/* The address of IPv4 that one of IPv6 leads to by a translator (NAT64) or a tunnel (6to4). false: none. */
bool address_inner(const struct address *a, struct address *ret);

/* Only ADDRESS_PUBLIC is reachable, unless a rule names the address itself (egress/policy.h). */
enum address_class address_class(const struct address *a);
/* "public", "loopback", "cloud metadata": a word for people and for records. */
const char *address_class_name(enum address_class class);

#endif
