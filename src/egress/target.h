/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP heads and addresses of pages, as questions to the policy. Pure. What comes out points into the
 * head, or into *host.
 */
#ifndef EGRESS_TARGET_H
#define EGRESS_TARGET_H

#include <stddef.h>

#include "egress/policy.h"
#include "http/head.h"

/* CONNECT host:port, of a proxy. 0 or -EINVAL with words. The question is EGRESS_CONNECT. */
int target_of_connect(const struct http_head *h, struct name *host, struct egress_request *ret,
		      const char **ret_why);
/*
 * A request as it is spoken to `expected` on `port`, by http or https: its Host (and that of an
 * absolute target) must be that name, with that port. `expected` NULL: of a proxy, an absolute
 * target says where. The question is EGRESS_REQUEST.
 */
int target_of_request(const struct http_head *h, const struct name *expected, uint16_t port,
		      enum egress_protocol protocol, struct name *host, struct egress_request *ret,
		      const char **ret_why);
/* http://…, https://…, tcp://host:port or host[:port]; what people give to --explain. Not a user, not
 * a fragment. `method` is borrowed. */
int target_of_url(const char *url, const char *method, struct name *host,
		  struct egress_request *ret, const char **ret_why);

#endif
