/* SPDX-License-Identifier: Apache-2.0 */
/* The part of `pinfold serve` that speaks HTTP: its sockets and its processes. */
#ifndef CMD_HTTP_H
#define CMD_HTTP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct http_options {
	const char *daemon_socket;    /* of the daemon, NULL: the contract's */
	const char *unix_path;	      /* NULL: beside the daemon's */
	const char *const *addresses; /* HOST:PORT, or NULL */
	const char *const *hosts, *const *origins;
	bool open_probes;
	bool conformance; /* test builds: what the MCP conformance suite wants, without tokens */
	const char *log;  /* text, json; NULL: nothing */
	uint64_t keep_ms, keep_bytes;	/* of results; 0: the standard */
	const char *mcp_policy;		/* of sandboxes that /mcp makes: its text; or NULL */
	const char *tls_cert, *tls_key; /* PEM files; NULL: no TLS at the addresses */
};

struct http_side {
	pid_t pid;	/* of the process that watches over the others; 0: none */
	int leash;	/* closed: all of them end */
	char path[108]; /* the Unix socket */
};

/* Open the sockets and start the processes. What is wrong is said before anything is started. */
int http_start(const struct http_options *o, struct http_side *ret, struct err *e);
/* The directory of tokens, made where it is not there. */
int http_open_dir(const char *home, struct err *e);
/* Have the certificate read anew; what is wrong with it the log says. */
void http_renew(struct http_side *h);
/* End them, and remove the socket. */
void http_stop(struct http_side *h);

#endif
