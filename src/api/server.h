/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets that listen, and their connections: HTTP/1.1 on our loop. */
#ifndef API_SERVER_H
#define API_SERVER_H

#include "api/exchange.h"

struct server_config {
	unsigned connections_max; /* 0: 4096 */
	const char *const *hosts; /* names that a Host field may have, beside loopback's; or NULL */
	const char *const *origins; /* that browsers may come from; or NULL: none */
	bool open_probes;	    /* OP_PROBE without a token */
	bool open;		    /* test builds alone: nobody needs a token */
};

int server_new(struct api *api, const struct server_config *config, struct server **ret,
	       struct err *e);
/* `fd` is taken; non-blocking but for the door. */
int server_listen(struct server *s, int fd, enum api_way way, struct err *e);
/* No new connection; those that are idle go. */
void server_drain(struct server *s);
/* No new connection; those that are idle are handed on (heirs.h). */
void server_yield(struct server *s);
/* A connection that another process had; `fd` is taken. */
struct link_conn;
void server_adopt(struct server *s, const struct link_conn *m, int fd);
void server_free(struct server *s);

struct server_counts {
	unsigned connections, streams;
	uint64_t accepted, refused, requests, dropped;
};
void server_count(const struct server *s, struct server_counts *ret);

/* How a request is answered that no mount takes: rest.c. */
void rest_begin(struct exchange *x);
/* The body is to be given to the call as it comes: the row says so. Called when the head is
 * there. */
struct http_path_args;
const struct op *rest_route(const struct http_head *h, struct http_path_args *ret_args);

/* OP_BELOW: where in a path its own begins, at a slash; 0: nowhere. */
size_t rest_prefix(const struct op *op, const char *path, size_t len);

#endif
