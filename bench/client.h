/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A caller of the daemon as small as can be, so that what is measured is the daemon: HTTP over one
 * connection that stays, and MCP with a `pinfold mcp` of its own. Ends the process when it cannot
 * go on.
 */
#ifndef BENCH_CLIENT_H
#define BENCH_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ANSWER_SIZE (256u << 10)

struct client {
	int in, out; /* the same for HTTP */
	pid_t pid;   /* of the MCP server; 0: none */
	const char *token;
	char answer[ANSWER_SIZE]; /* the last one's body or line */
	size_t len;
};

/* The socket of HTTP beside the daemon's, as `pinfold serve` names it. */
void client_unix(struct client *c);
void client_tcp(struct client *c, unsigned port, const char *token);
/* One request and its answer, which has to have a length and to fit. Returns the status. */
int client_call(struct client *c, const char *method, const char *path, const char *body);
/* The head of an answer alone; what follows of its body is in `answer`. Returns its length, or
 * -1. */
int64_t client_begin(struct client *c, const char *path);
/* The string that an answer has as `"NAME":"…"`; false: it has none. */
bool client_string(const struct client *c, const char *name, char *to, size_t size);

/* Starts PROGRAM mcp and shakes hands. */
void client_mcp(struct client *c, const char *program);
/* A call of a tool; the answer is the whole line. */
void client_tool(struct client *c, const char *tool, const char *arguments);
void client_done(struct client *c);

#endif
