/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets that listen, and their connections: HTTP/1.1 on our loop. */
#ifndef API_SERVER_H
#define API_SERVER_H

#include "api/exchange.h"

struct server_config {
	unsigned connections_max; /* 0: 4096 */
	const char *const *hosts; /* names that a Host field may have, beside loopback's; or NULL */
	const char *const *origins; /* that browsers may come from; or NULL: none */
	bool open;		    /* test builds alone: nobody needs a token */
};

int server_new(struct api *api, const struct server_config *config, struct server **ret,
	       struct err *e);
/* `fd` is taken: listening, non-blocking. unix_socket: who calls is known by his uid, else he needs
 * a token. */
int server_listen(struct server *s, int fd, bool unix_socket, struct err *e);
/* No new connection; those that are idle go. */
void server_drain(struct server *s);
void server_free(struct server *s);

struct server_counts {
	unsigned connections, streams;
	uint64_t accepted, refused, requests, dropped;
};
void server_count(const struct server *s, struct server_counts *ret);

/* How a request is answered that no mount takes: rest.c. */
void rest_begin(struct exchange *x);
/* The body is to be given to the call as it comes: the row says so. Called when the head is there. */
const struct op *rest_route(const struct http_head *h);

#endif
