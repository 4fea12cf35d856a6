/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/socks.h"

#include <errno.h>
#include <string.h>

#define VERSION 5
#define NO_AUTHENTICATION 0
#define NONE_ACCEPTABLE 0xff
#define COMMAND_CONNECT 1

enum { TYPE_IP4 = 1, TYPE_NAME = 3, TYPE_IP6 = 4 };

int socks_greeting(const uint8_t *buf, size_t len, uint8_t ret[2])
{
	ret[0] = VERSION;
	ret[1] = NONE_ACCEPTABLE;
	if (len > 0 && buf[0] != VERSION)
		return -EBADMSG;
	if (len < 2 || len < 2u + buf[1])
		return 0;
	if (!memchr(buf + 2, NO_AUTHENTICATION, buf[1]))
		return -EBADMSG;
	ret[1] = NO_AUTHENTICATION;
	return 2 + buf[1];
}

static int refuse(struct socks_request *ret, enum socks_reply reply, const char *why)
{
	ret->reply = reply;
	ret->why = why;
	return -EBADMSG;
}

/* Bytes of the address behind its type, with its own length; 0: not known yet, < 0: no such
 * type. */
static int host_len(const uint8_t *buf, size_t len)
{
	switch (buf[3]) {
	case TYPE_IP4: return 4;
	case TYPE_IP6: return 16;
	case TYPE_NAME: return len < 5 ? 0 : 1 + buf[4];
	default: return -EBADMSG;
	}
}

int socks_request(const uint8_t *buf, size_t len, struct socks_request *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (len > 0 && buf[0] != VERSION)
		return refuse(ret, SOCKS_FAILURE, "not SOCKS5");
	if (len < 4)
		return 0;
	if (buf[1] != COMMAND_CONNECT)
		return refuse(ret, SOCKS_BAD_COMMAND, "a command other than CONNECT");
	if (buf[2] != 0)
		return refuse(ret, SOCKS_FAILURE, "a reserved byte that is not 0");
	int host = host_len(buf, len);
	if (host < 0)
		return refuse(ret, SOCKS_BAD_ADDRESS, "an address of no known kind");
	if (host == 0 || len < 4u + (unsigned)host + 2)
		return 0;
	const uint8_t *at = buf + 4;
	if (buf[3] == TYPE_NAME) {
		if (name_parse((const char *)at + 1, at[0], &ret->host, &ret->why) < 0)
			return refuse(ret, SOCKS_BAD_ADDRESS, ret->why);
	} else {
		struct address a = buf[3] == TYPE_IP4 ? address_of_ip4(at) : address_of_ip6(at);

		name_of_address(&a, &ret->host);
	}
	at += host;
	ret->port = (uint16_t)(at[0] << 8 | at[1]);
	if (ret->port == 0)
		return refuse(ret, SOCKS_FAILURE, "port 0");
	return 4 + host + 2;
}

void socks_answer(enum socks_reply reply, uint8_t ret[SOCKS_REPLY_SIZE])
{
	memset(ret, 0, SOCKS_REPLY_SIZE);
	ret[0] = VERSION;
	ret[1] = (uint8_t)reply;
	ret[3] = TYPE_IP4;
}
