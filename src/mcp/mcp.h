/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The MCP server: the tools that an agent holds. One `struct mcp` serves any number of clients over
 * any transport; what it knows of sandboxes is api/'s.
 */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct api;
struct mcp;
struct server;

enum mcp_structured {
	MCP_STRUCTURED_AUTO,   /* of tools whose text is the same JSON */
	MCP_STRUCTURED_ALWAYS, /* of commands, too: for programs, not for models */
	MCP_STRUCTURED_NEVER,
};

struct mcp_options {
	bool core; /* only the tools that small models need */
	enum mcp_structured structured;
	const char *transfer_dir; /* borrowed; what may be transferred, or NULL */
	bool resource_links;	  /* to files that changed, in results */
	bool ask;		  /* a person is asked before a transfer */
	bool fixtures;		  /* what the conformance suite wants to find */
	const char *limits; /* of sandboxes that are made: strict, best-effort; NULL: the default */
	const char *policy; /* the text of one, that all of them have; borrowed; NULL: none */
	uint64_t idle_ms;   /* a sandbox is kept that long after its last use; 0: BOX_IDLE_MS */
};

/* Once, before anything else: the tools are rows of the table of operations. */
void tools_register(void);

int mcp_new(struct api *api, const struct mcp_options *o, struct mcp **ret, struct err *e);
void mcp_free(struct mcp *m);

/* Answers at /mcp. */
void mcp_mount(struct mcp *m, struct server *s);

/* Who sees to it that there is a daemon, when the first tool is called. All in the loop's
 * thread. */
struct mcp_home {
	/* 1: there is one. 0: it is being started, and *ret_fd becomes readable when ready() should
	 * be called. */
	int (*begin)(struct mcp_home *h, int *ret_fd, struct err *e);
	/* 1: it serves. 0: not yet. */
	int (*ready)(struct mcp_home *h, struct err *e);
};

/* Serve who is at standard input and output, until end of file, SIGTERM, SIGINT or SIGHUP, or until
 * the parent is gone. Blocks those signals. */
int mcp_stdio(const struct mcp_options *o, struct mcp_home *home, struct err *e);

#endif
