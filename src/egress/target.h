/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP heads and addresses of pages, as questions to the policy. Pure. What comes out points into
 * the head, or into *host.
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
/*
 * Servers take a method from a field, too, in the place of the one that was spoken
 * (X-HTTP-Method-Override and its like), or from the parameter _method of a POST. The next one from field
 * *at on, parameters behind all fields, in upper case, as `name`.
 * False: there is none. What opens a WebSocket is WEBSOCKET: who may GET may not send what he
 * likes.
 */
#define TARGET_METHOD_SIZE (HTTP_METHOD_MAX + 1)
bool target_override(const struct http_head *h, unsigned *at, char name[TARGET_METHOD_SIZE]);
/* The same for a path (X-Original-URL, X-Rewrite-URL), without its query; borrowed from the head. */
bool target_override_path(const struct http_head *h, unsigned *at, const char **ret, size_t *len);
/* Is that the request's method? It is what rules call the opening of a WebSocket, and no other
 * thing. */
bool target_is_websocket(const struct http_head *h);
/* http://…, https://…, tcp://host:port or host[:port]; what people give to --explain. Not a user,
 * not a fragment. `method` is borrowed. */
int target_of_url(const char *url, const char *method, struct name *host,
		  struct egress_request *ret, const char **ret_why);

#endif
