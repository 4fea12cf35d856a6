/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several processes may serve the same sockets, and this is what they say to each other. One of
 * them is the front: it listens. The others have what nobody else can answer for:
 *
 *	elder	was the front before. It finishes what it began, and keeps its records, sessions and ports
 *		as long as somebody may ask for them.
 *	runner	never listens. It has the runs that nobody waits for, so that they outlive the front.
 *
 * A link joins the front with each of the others: SOCK_SEQPACKET, one struct a message, its
 * descriptor with it. To the front go RUN and KEY (what this one has), SYNCED (that was all, up to
 * now), CONN (a connection whose next request is nobody's in particular) and BYE (I am about to
 * end). To the others go CONN (a request for what you have) and START (a run that nobody waits
 * for). A connection travels between two requests, or with a head that was read and is not
 * answered: with the bytes that were read, so that the other begins where its client did. Who is
 * calling is found out there again.
 *
 * The watcher (cmd/http_watch.c) makes the links and hands their ends out by orders, on a socket
 * that each process has to it. All are forks of one program; a message of any other size ends a
 * link.
 */
#ifndef API_LINK_H
#define API_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "api/call.h"
#include "http/head.h"

#define LINK_KEY_SIZE 176u
#define LINK_BYTES_MAX (HTTP_HEAD_MAX + 1)

enum link_kind { LINK_RUN = 1, LINK_KEY, LINK_SYNCED, LINK_CONN, LINK_BYE, LINK_START };

/* A run, when it begins and when it has ended. */
struct link_run {
	uint32_t kind;
	char id[32], sandbox[32], status[16];
	char tenant[TENANT_SIZE], workspace[64], command[256];
	uint64_t made_ms;
};

/* What requests may name: the id or the name of a sandbox, a key that heads carry. */
struct link_key {
	uint32_t kind;
	char tenant[TENANT_SIZE];
	char key[LINK_KEY_SIZE];
};

/* With its descriptor. */
struct link_conn {
	uint32_t kind;
	uint32_t way; /* enum api_way */
	char from[FROM_SIZE];
	uint32_t len;
	char bytes[LINK_BYTES_MAX];
};

/* With two descriptors: a socket for one struct link_started, and a file with the arguments. */
struct link_start {
	uint32_t kind;
	char op[32], request_id[32];
	struct who who;
};

struct link_started {
	int32_t result;
	struct err error;
	char sandbox[32];
	uint32_t len;
	char text[4096]; /* what is known of it, JSON */
};

union link_message {
	uint32_t kind;
	struct link_run run;
	struct link_key key;
	struct link_conn conn;
	struct link_start start;
};

#define LINK_FDS_MAX 2u

/* One end, on the loop. */
struct link;
struct link_calls {
	/* Descriptors that it does not take are closed behind it. It may free the link. */
	void (*take)(struct link *l, const union link_message *m, int fds[LINK_FDS_MAX]);
	void (*gone)(struct link *l); /* the other end is closed; frees it */
};

struct link {
	struct watch watch;
	const struct link_calls *calls;
	void *arg;
	struct link_wait *out, **out_end; /* what the socket did not take yet */
	struct link *next;		  /* the owner's */
	bool taking, dead;		  /* it is freed when its message was taken */
};

/* `fd` is taken. NULL: no memory. */
struct link *link_new(struct loop *l, int fd, const struct link_calls *calls, void *arg);
void link_free(struct link *l);
/* The loop's thread. Descriptors are borrowed; the first that is negative ends them. */
void link_send(struct link *l, const void *message, size_t len, const int *fds);
/* Take what has come, without waiting. */
void link_take(struct link *l);

/* A connection with what was read of it. */
struct conn;
void link_send_conn(struct link *l, int fd, const struct link_conn *m);

/* What the watcher tells a process; with an end of a link, but for LISTEN. */
enum order_kind {
	ORDER_TELL = 1, /* this front is to know what you have */
	ORDER_YIELD,	/* the same, and from here on you are an elder */
	ORDER_ELDER,	/* you are the front of this elder, */
	ORDER_RUNNER,	/* or runner */
	ORDER_LISTEN,	/* as soon as they have all told what they have */
	ORDER_READY,	/* to the watcher: I take orders */
};
struct order {
	uint32_t kind;
};

#endif
