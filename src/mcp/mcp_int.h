/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share. */
#ifndef MCP_MCP_INT_H
#define MCP_MCP_INT_H

#include "api/api.h"
#include "api/call.h"
#include "mcp/mcp.h"
#include "mcp/rpc.h"

struct approvals;
struct asked;
struct fixtures;
struct names;
struct pendings;

struct mcp_session;

enum mcp_home_state { HOME_READY, HOME_COLD, HOME_STARTING, HOME_FAILED };

struct mcp {
	struct api *api;
	struct mcp_options options;
	int transfer_fd; /* FD_NONE: nothing may be transferred */
	struct names *names;
	struct approvals *approvals;
	struct pendings *pendings;	 /* questions that the client did not show */
	struct asked *asked;		 /* questions of rules, while tools work */
	const struct fixtures *fixtures; /* NULL but in tests */

	struct mcp_home *home;
	enum mcp_home_state home_state;
	struct watch home_watch;
	struct err home_error;
	struct call *parked, **parked_end; /* until there is a daemon */

	struct request *listeners; /* of subscriptions/listen, all clients' */
	unsigned n_listeners;
	struct mcp_session *sessions; /* of http.c */
	unsigned n_sessions;
};

/* One request, from its message to its answer. */
struct request {
	struct peer *peer; /* a reference */
	struct sink *sink; /* NULL: nobody listens */
	struct mcp *mcp;
	bool modern;
	bool cancelled;	 /* no answer is wanted */
	unsigned client; /* CLIENT_* */
	int log_level;
	struct value *message; /* owns what is borrowed below */
	const struct value *id;
	const struct value *params; /* never NULL */
	const struct value *token;  /* of progress, or NULL */
	const struct method *method;

	struct call *call; /* that works for it */
	/* The handler's, until its call is done. */
	struct rpc_error fault; /* an error of the protocol, not of the tool */
	struct value *inputs;	/* modern: what it has to ask; object of questions */
	char *state;		/* and its requestState, malloced */

	/* progress.c */
	struct feed *feed;
	struct follower follower;
	struct task follow_task;
	struct timer timer;
	uint64_t progress, progress_at_ms;
	char last_line[200];

	struct request *next;	  /* of the connection */
	struct request *next_ear; /* of mcp->listeners */
};

/* rpc.c */
void request_send(struct request *r, struct value *message); /* taken */
/* `result` is taken; NULL: no memory. The request is gone after these. */
void request_finish(struct request *r, struct value *result);
/* The answer now; its call goes on, and nobody hears of it any more. */
void request_answer(struct request *r, struct value *result);
void request_fail(struct request *r, const struct rpc_error *e);
/* A notification on the request's stream; `params` is taken. */
void request_notify(struct request *r, const char *method, struct value *params);

/* Work on a thread, by the handler of `op`; its reply is the result. args is taken. The request
 * ends when that is done. */
int request_call(struct request *r, const struct op *op, struct value *args, struct err *e);

/* methods.c: one row a method. 1: it was answered or will be; 0: *ret_result is the answer. */
#define METHOD_LEGACY 0x1u
#define METHOD_MODERN 0x2u
#define METHOD_BOTH 0x3u
struct method {
	const char *name;
	unsigned eras;
	int (*run)(struct request *r, struct value **ret_result, struct rpc_error *e);
	int64_t ttl_ms; /* modern: how long the answer may be kept; -1: it is not said */
	const char *scope;
	const char *name_key; /* of params: what Mcp-Name repeats, or NULL */
};
const struct method *method_find(const char *name, bool modern);
void method_notification(struct peer *c, const char *name, const struct value *params);

/* progress.c */
void progress_begin(struct request *r);
void progress_end(struct request *r);
void progress_follow(struct call *c, struct feed *feed); /* the handler's thread */
void request_log(struct request *r, const char *level, const char *text);
int log_level_of(const char *name); /* -1: there is none of that name */

/* tools.c */
struct value *tools_list(const struct mcp *m);
int tools_call(struct request *r, struct rpc_error *e);
/* {content: [...]} with one text. */
struct value *tool_text(const char *text, bool is_error);
struct value *tool_error(const struct err *e, const char *request_id);
bool tool_is_on(const struct mcp *m, const struct op *op);

/* resources.c, complete.c */
int method_resources_list(struct request *r, struct value **ret_result, struct rpc_error *e);
int method_resources_templates(struct request *r, struct value **ret_result, struct rpc_error *e);
int method_resources_read(struct request *r, struct value **ret_result, struct rpc_error *e);
int method_complete(struct request *r, struct value **ret_result, struct rpc_error *e);

/* listen.c */
int method_listen(struct request *r, struct value **ret_result, struct rpc_error *e);
void listen_end(struct request *r);
/* Tell who asked for it: key is "toolsListChanged" or its like. The loop's thread. */
void listen_tell(struct mcp *m, const char *key, const char *notification);

/* http.c */
void http_sessions_free(struct mcp *m);

/* home.c */
/* Start the call, now or when there is a daemon. */
int home_call(struct mcp *m, struct call *c, struct err *e);

/* Fixtures: what the conformance suite wants beside the tools. NULL members: nothing. */
struct fixtures {
	void (*tools)(struct value *list);
	const struct op *(*tool)(const char *name);
	void (*resources)(struct value *list);
	void (*templates)(struct value *list);
	/* 1: *ret_result is it. 0: not theirs. */
	int (*read)(struct request *r, const char *uri, struct value **ret_result);
	void (*prompts)(struct value *list);
	const struct op *(*prompt)(const char *name);
	struct value *(*complete)(const struct value *params);
};
extern const struct fixtures mcp_fixtures;

#endif
