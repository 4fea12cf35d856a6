/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DNS messages: questions of a sandbox in, our answers out; and for a resolver of ours the other
 * way round. Pure. Strict: one question, no compression in it, nothing behind it but EDNS; what is
 * anything else gets an error code, or no answer where even its id cannot be believed.
 *
 * Over TCP each message has its length in two bytes in front: dns_frame().
 */
#ifndef EGRESS_DNS_H
#define EGRESS_DNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/address.h"
#include "egress/name.h"

#define DNS_QUERY_MAX 512u  /* a longer question is refused, over TCP too */
#define DNS_ANSWER_MAX 512u /* ours never is longer */
#define DNS_REPLY_MAX 4096u /* of an upstream server */
#define DNS_ADDRESSES_MAX 16u

enum dns_type { DNS_A = 1, DNS_CNAME = 5, DNS_OPT = 41, DNS_AAAA = 28 };

enum dns_code {
	DNS_OK = 0,
	DNS_FORMAT_ERROR = 1,
	DNS_SERVER_FAILURE = 2,
	DNS_NO_NAME = 3, /* NXDOMAIN */
	DNS_NOT_IMPLEMENTED = 4,
	DNS_REFUSED = 5,
};

struct dns_query {
	uint16_t id;
	uint16_t type;
	bool wants_recursion;
	struct name name;      /* normalised; kind NAME_DNS */
	uint8_t question[262]; /* as it came, case and all: it is repeated in the answer */
	uint16_t question_len;
};

/* 0: *ret is whole. > 0 (an enum dns_code): *ret has an id and perhaps a question; send
 * dns_answer_code(). < 0: no answer. *ret_why says why, where it is not 0. */
int dns_query_parse(const void *msg, size_t len, struct dns_query *ret, const char **ret_why);

/* An answer with the addresses of the question's family; DNS_OK without any is "no data". Answers
 * have a time to live of 0 seconds, so nobody keeps them. Returns its length, at most
 * DNS_ANSWER_MAX. */
size_t dns_answer(const struct dns_query *q, const struct address *list, unsigned n,
		  uint8_t ret[DNS_ANSWER_MAX]);
size_t dns_answer_code(const struct dns_query *q, enum dns_code code, uint8_t ret[DNS_ANSWER_MAX]);

/* The next message in a stream. > 0: it is that long and begins at buf + 2. 0: more is needed. < 0:
 * it is longer than `max`, or empty. */
int dns_frame(const uint8_t *buf, size_t len, size_t max);

/* Our own question to a server: recursion wanted, EDNS with DNS_REPLY_MAX. Returns its length. */
size_t dns_ask(uint16_t id, const struct name *name, enum dns_type type,
	       uint8_t ret[DNS_QUERY_MAX]);

struct dns_reply {
	enum dns_code code;
	bool is_truncated; /* ask again over TCP */
	unsigned n;
	struct address list[DNS_ADDRESSES_MAX];
	uint32_t ttl_s; /* the least of those on the way */
};

/* What a server answered to dns_ask(id, name, type): only records of the asked name, or of the end
 * of a chain of CNAMEs that begins there. -EBADMSG when it is no answer to it; wait for another. */
int dns_reply_parse(const void *msg, size_t len, uint16_t id, const struct name *name,
		    enum dns_type type, struct dns_reply *ret);

#endif
