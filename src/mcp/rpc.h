/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON-RPC as MCP speaks it, in both eras, whatever carries it. A message comes in by
 * rpc_message(); what is to be said about it goes to its sink. Which era it belongs to is decided
 * by the message alone: one with a protocol version in its _meta is modern (2026-07-28, nothing is
 * remembered between messages), any other is legacy (2025-11-25 and before, with a handshake).
 *
 * All of it is for the loop's thread, but for what ask.h says.
 */
#ifndef MCP_RPC_H
#define MCP_RPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "api/call.h"
#include "base/value.h"

struct mcp;
struct request;
struct question;

#define RPC_MESSAGE_MAX ((size_t)16 << 20)
#define RPC_MODERN "2026-07-28"
#define RPC_LEGACY "2025-11-25"

#define RPC_PARSE (-32700)
#define RPC_SHAPE (-32600)
#define RPC_METHOD (-32601)
#define RPC_PARAMS (-32602)
#define RPC_INTERNAL (-32603)
#define RPC_HEADER (-32020)
#define RPC_CAPABILITY (-32021)
#define RPC_VERSION (-32022)
#define RPC_NO_RESOURCE (-32002) /* legacy only */

struct rpc_error {
	int code;	    /* 0: none */
	int http;	    /* the status that goes with it; 0: 200 */
	char text[1024];    /* all that a model gets to see of it */
	struct value *data; /* owned, or NULL */
};

/* Returns -1. */
int rpc_fail(struct rpc_error *e, int code, int http, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* What a client can be asked for. */
#define CLIENT_FORM 0x1u
#define CLIENT_URL 0x2u
#define CLIENT_SAMPLING 0x4u
#define CLIENT_ROOTS 0x8u

/* At which points of the way of a modern message its transport has a say. */
enum sink_check { SINK_VERSION, SINK_METHOD, SINK_ARGUMENTS };

/*
 * Where what is said about one message goes. `send` is called for notifications and questions while
 * a request is going on, and for every message once with `last`: the answer, or nothing (text NULL)
 * where there is none to be given. The sink is over then.
 */
struct sink {
	void (*send)(struct sink *s, const char *text, size_t len, bool last, int http);
	/* NULL: nothing to say. 0, or -1 and the error. */
	int (*check)(struct sink *s, enum sink_check at, const struct value *message,
		     struct rpc_error *e);
	struct request *request; /* while it goes on: for rpc_gone() */
};

/* What is known of a client between messages. */
struct peer {
	struct mcp *mcp;
	struct who who;
	char version[16]; /* of the handshake; "" before */
	unsigned client;  /* CLIENT_*, of the handshake */
	int log_level;	  /* index of syslog's names; -1: nothing is logged */
	bool initialized; /* a handshake was made with this message: for transports */
	unsigned refs;	  /* the transport's, and one of each request */
	struct request *requests;
	struct question *questions; /* that wait for their answers */
	uint64_t last_question;
	struct value *subscribed; /* legacy: array of URIs */
};

struct peer *peer_new(struct mcp *m, const struct who *who);
void peer_unref(struct peer *c);
/* End what goes on; nobody listens any more. */
void peer_drop(struct peer *c);

/* A message, which is taken. */
void rpc_message(struct peer *c, struct sink *s, struct value *message);
/* The same from its text. */
void rpc_text(struct peer *c, struct sink *s, const char *text, size_t len);
/* Refuse a message before it is known whose it is. message may be NULL. */
void rpc_refuse(struct sink *s, const struct value *message, const struct rpc_error *e);
/* Nobody listens to the sink any more; cancel: what goes on for it ends. */
void rpc_gone(struct sink *s, bool cancel);

/* notifications/cancelled: no answer is wanted any more. */
void rpc_cancel(struct peer *c, const struct value *id);
/* The first message of a legacy client. */
void rpc_handshake(struct peer *c, const struct value *params);

/* The claim of a message to be modern, or NULL. */
const struct value *rpc_claim(const struct value *message);
/* Whether that is the name of a revision of either era. */
bool rpc_is_modern(const char *version);
bool rpc_is_legacy(const char *version);

#endif
