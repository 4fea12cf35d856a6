/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call of an operation. Whoever speaks with the outside (rest.c, mcp) makes it and starts it;
 * it then runs on a thread of its own (worker.c), where the handler may block as it likes, and ends
 * in the loop's thread (`done`). The handler owns nothing but the call.
 *
 * States: made -> running (call_start) -> over (done was called). cancel may come at any time while
 * it runs; a handler that waits, waits for call_cancelled_fd(), too.
 */
#ifndef API_CALL_H
#define API_CALL_H

#include "api/feed.h"
#include "api/loop.h"
#include "api/door.h"
#include "api/op.h"
#include "base/value.h"
#include "http/coding.h"

struct api;
struct taken;

#define TENANT_SIZE 64

/* Who is calling. */
struct who {
	char tenant[TENANT_SIZE]; /* "uid-1000" or the token's */
	char token[32];		  /* id of the token, "" for none */
	char client[64];	  /* what an MCP client calls itself, "" for none */
	unsigned scopes;
	char from[FROM_SIZE]; /* his address, "" on a Unix socket */
};

/* What the handler leaves; at most one of value, text and fd. */
struct reply {
	int status;	     /* 0: 200 or what the row says */
	struct value *value; /* JSON */
	char *text;	     /* malloced, with `type` or JSON */
	size_t text_len;
	const char *type; /* of text and fd; NULL: JSON */
	int fd;		  /* a regular file */
	uint64_t offset, length;
	char etag[48];		 /* "" for none */
	enum http_coding coding; /* of text and fd */
};

struct call {
	struct api *api;
	const struct op *op;
	struct value *args; /* checked */
	struct who who;
	char request_id[32];
	int body;		      /* OP_RAW_BODY: the read end of a pipe, else FD_NONE */
	enum http_coding body_coding; /* how that came */
	enum http_coding coding;      /* that the answer may have */
	bool stream;
	bool detach;  /* who asked may leave */
	bool counted; /* another process has counted it and written it down */
	bool is_told; /* both events of its run are in our chain, with its request id */
	bool refused; /* `error` says why: it is recorded and answered, and that is all */
	char run[32]; /* what it runs, "" for nothing */
	uint64_t last_event;
	char last_place[256];			/* OP_PLACES: the same, as text */
	char if_match[128], if_none_match[128]; /* of what changes files; "": not given */
	char websocket[32]; /* OP_TAKES: what a WebSocket is accepted with; "": none is wanted */
	bool upgrades;	    /* OP_TAKES: pinfold-sync is wanted */

	/* The handler's. */
	struct reply reply;
	struct err error;
	int result; /* of the handler */

	/* Where events go, from the handler's thread: REST hangs a stream on the feed, MCP reports
	 * progress. NULL: nobody listens. */
	void (*follow)(struct call *c, struct feed *feed);
	/* The answer now, although the handler goes on (`detach`); takes the value. */
	void (*early)(struct call *c, struct value *v);
	/* See call_take(); NULL: there is no connection to be had. */
	int (*take)(struct call *c, struct taken *ret);
	/* Tools: ask who is calling. See mcp/ask.h. */
	void *transport;
	void (*done)(struct call *c); /* the loop's thread; frees it */

	struct task task; /* for worker.c */
	int cancel;	  /* eventfd */
	struct call *next;
	struct caller *caller; /* while it runs */
	uint64_t began_ms;
};

struct call *call_new(struct api *api, const struct op *op, const struct who *who);
void call_free(struct call *c);

/* Give it to a thread; the loop's thread. 0, or -errno and busy when too many wait. A call may take
 * minutes: a tenant has so many threads at most, then his calls wait for each other, so that he
 * leaves some for others. */
#define CALLS_PER_TENANT 512u
#define CALLS_WAITING_MAX 2048u
int call_start(struct call *c, struct err *e);
/* The loop's thread, or any. */
void call_cancel(struct call *c);

/* The handler's thread. */
bool call_cancelled(const struct call *c);
int call_cancelled_fd(const struct call *c); /* readable when it was */
/* From here on `feed` is what a caller who wants a stream hears. */
void call_stream(struct call *c, struct feed *feed);

/* With `detach`: he who called gets this, and need not wait any longer. */
void call_answer(struct call *c, struct value *v);

/* OP_TAKES, once, before anything was answered: the connection (taken.h) becomes the handler's.
 * What he returns later is for the log. -errno: the client is gone. */
int call_take(struct call *c, struct taken *ret, struct err *e);

const char *arg_str(const struct call *c, const char *name); /* NULL: not given */
int64_t arg_int(const struct call *c, const char *name, int64_t standard);
bool arg_true(const struct call *c, const char *name);
const struct value *arg(const struct call *c, const char *name);

#endif
