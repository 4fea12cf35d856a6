/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection. Requests are answered one after the other, in their order; bytes of the next wait
 * in the socket.
 *
 *	HEAD -> BODY -> ANSWER -> HEAD      keep-alive
 *	 any -> CLOSING                     refused, gone, too slow, or the answer was the last
 *
 * Who is calling is known before BODY: nothing that a stranger sends is kept. In CLOSING the answer
 * went out and what still comes is dropped for a while, because a close with bytes unread would
 * take the answer away from a client that is still writing.
 *
 * BODY: it goes into memory (JSON) or, when the row says so, the call begins with the first byte
 * and reads a pipe. In ANSWER nothing is read; a client who leaves is noticed by EPOLLRDHUP. On a
 * Unix socket who only says that he will send no more (shutdown) still gets his answer: one who
 * leaves is seen apart from him there. On TCP the two look the same, and he counts as gone.
 */
#ifndef API_CONN_INT_H
#define API_CONN_INT_H

#include "api/server.h"
#include "http/body.h"
#include "http/head.h"

#define BODY_MAX (16u << 20)	    /* also of what it expands to */
#define IN_SIZE (HTTP_HEAD_MAX + 1) /* a head that is too long is seen to be */
#define OUT_MAX (8u << 20)	    /* of events that a client has not taken: then he is dropped */
#define HEAD_MS 15000u		    /* for a whole head, from its first byte */
#define IDLE_MS 120000u		    /* between requests */
#define BODY_IDLE_MS 30000u	    /* for each BODY_PART of a body */
#define BODY_PART (64u << 10)
#define LINGER_MS 5000u
#define WRITE_IDLE_MS 30000u /* for some of an answer to be taken */
#define FIELDS_SIZE 2048u

enum conn_state { CONN_HEAD, CONN_BODY, CONN_ANSWER, CONN_CLOSING };

/* A piece of what goes out: bytes, or a part of a file. */
struct piece {
	struct piece *next;
	char *data; /* NULL: a file */
	size_t len, done;
	int fd;
	uint64_t offset, left;
};

struct exchange {
	struct conn *conn;
	struct http_head head;
	char *head_bytes; /* what its slices point into */
	size_t head_len;
	struct who who;
	char request_id[32];
	char *body;
	size_t body_len, body_room;
	enum http_coding coding;  /* of the body, as it comes */
	struct coder *coder;	  /* with it, when it is kept in memory */
	char fields[FIELDS_SIZE]; /* more fields of the answer */
	size_t fields_len;
	bool events, over, chunked, counted;
	void (*gone)(struct exchange *x, void *arg);
	void *gone_arg;
	void (*room)(struct exchange *x, void *arg);
	void *room_arg;
	int pipe;     /* write end, while the body goes there; FD_NONE: not */
	int pipe_end; /* the read end, until the call takes it */
	bool pipe_wanted;
	struct watch pipe_watch;
};

struct conn {
	struct watch watch;
	struct timer timer;
	struct server *server;
	struct listener *listener;
	struct conn *prev, *next;
	enum conn_state state;
	uint32_t uid;	      /* of the peer, on a Unix socket */
	char from[FROM_SIZE]; /* his address, on TCP */
	char *in;	      /* IN_SIZE bytes, while something is in it */
	size_t in_len;
	struct http_body decoder;
	size_t part; /* bytes of the body since its time was set */
	bool keep, got_eof, in_callback, dead;
	bool half;   /* he sends no more, and waits */
	bool served; /* a request of it was answered: it may idle */
	struct piece *out, **out_end;
	size_t out_bytes; /* in memory */
	struct exchange x;
};

struct listener {
	struct watch watch;
	struct timer again; /* when no descriptor was left */
	struct server *server;
	enum api_way way;
	struct listener *next;
};

struct mount {
	const char *path;
	unsigned scope;
	void (*begin)(struct exchange *x, void *arg);
	void *arg;
	struct mount *next;
};

struct server {
	struct api *api;
	struct loop *loop;
	struct server_config config;
	struct listener *listeners;
	struct mount *mounts;
	struct conn *first, *last; /* in the order of their last request, oldest first */
	struct server_counts counts;
	bool draining;
};

struct conn *conn_new(struct listener *l, int fd, uint32_t uid, const char *from);
void conn_close(struct conn *c);
/* Something to write, or the exchange is over: go on. */
void conn_push(struct conn *c);
void conn_add(struct conn *c, const void *data, size_t len);
void conn_add_taken(struct conn *c, char *data, size_t len);
void conn_add_file(struct conn *c, int fd, uint64_t offset, uint64_t len);
/* The socket and what came by it are another's; the connection is no more. */
void conn_take(struct conn *c, struct taken *ret);
/* The same by a link, with what was read of a request that nobody has begun with. */
struct link;
void conn_hand(struct conn *c, struct link *to);
/* Bytes that another has read of it. */
void conn_resume(struct conn *c, const char *bytes, size_t len);
/* Answer with an error and close. */
void conn_refuse(struct conn *c, int status, const char *why);

/* exchange.c */
void exchange_init(struct exchange *x, struct conn *c);
void exchange_done(struct exchange *x);
/* rest.c, exchange.c: the head of the answer; length < 0: unknown. */
void exchange_begin(struct exchange *x, int status, const char *type, int64_t length);
/* auth.c: who is calling, and by which way; false: refused, and answered. Some operations are open
 * to all who come by a way that we serve. */
bool exchange_admit(struct exchange *x, bool is_open);
/* auth.c: a browser asks whether a page of an origin that we were told of may call; answered. */
bool exchange_preflight(struct exchange *x);

#endif
