/* SPDX-License-Identifier: Apache-2.0 */
/* `host[:port]` as it stands in Host, in a target and behind `scheme://`. Pure. */
#ifndef HTTP_HOST_H
#define HTTP_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_HOST_MAX 253 /* without the dot of the root */

struct http_host {
	const char *name; /* borrowed; of an IPv6 address without its brackets */
	uint32_t name_len;
	uint16_t port; /* 0: none is given */
	bool is_ip6;
};

/*
 * Names are labels of letters, digits, - and _, at most 63 long, with one dot between them and at
 * most one behind the last; addresses of IPv6 are in brackets and have no zone. Nothing else: no
 * user, no escapes, no empty port. What a name of digits means is not looked at.
 */
bool http_host_parse(const char *text, size_t len, struct http_host *ret);
/* Equal but for the case of letters; a port that is not given is `port`. */
bool http_host_same(const struct http_host *a, const struct http_host *b, uint16_t port);

#endif
