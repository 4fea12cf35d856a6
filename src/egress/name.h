/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where something wants to go, as one text for one place. Pure.
 *
 * A name is in lower case, without the dot of the root, at most 253 bytes, of labels with at most
 * 63 letters, digits, - and _, none with - at an end or _ in front. Names that are not ASCII are
 * refused; in punycode (xn--) they are names like others. Whatever inet_aton(), a browser or a
 * resolver would take for an address is one, however it is spelt (2130706433, 0x7f.1, 0177.0.0.1,
 * 127.1, [::ffff:7f00:1]), and what looks like one and is none is nothing at all. Zones are
 * refused.
 */
#ifndef EGRESS_NAME_H
#define EGRESS_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/address.h"

#define NAME_LEN_MAX 253
#define NAME_SIZE 256

enum name_kind { NAME_DNS, NAME_IP4, NAME_IP6 };

struct name {
	enum name_kind kind;
	uint8_t len;
	char text[NAME_SIZE];	/* ends with NUL; of an address its one text, without brackets */
	struct address address; /* of NAME_IP4 and NAME_IP6 */
};

/* 0; or -EINVAL, and *ret_why says why in words that are a constant of the program. A host alone,
 * without a port; IPv6 with brackets or without. */
int name_parse(const char *text, size_t len, struct name *ret, const char **ret_why);
void name_of_address(const struct address *a, struct name *ret);
bool name_equal(const struct name *a, const struct name *b);
/* localhost and its kin, which programs take for their own machine without asking anybody. No rule
 * can allow them; it would have to name the address. */
bool name_is_local(const struct name *n);

/* HOST, HOST:PORT, [IP6]:PORT or IP6. *ret_port is 0 where none is given. */
int name_parse_port(const char *text, size_t len, struct name *ret, uint16_t *ret_port,
		    const char **ret_why);

#endif
