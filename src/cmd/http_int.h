/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of HTTP, for http*.c alone.
 *
 * pinfold serve                       the warden, and front below it (engine/serve.c)
 *   └─ watcher                        starts the others again when they die; does nothing else
 *        ├─ api                       speaks HTTP; for root's daemon an id of its own, no rights
 *        ├─ keeper                    has the store of workspaces for it, as who started us
 *        ├─ runs                      as api, but never listens: has the runs that nobody waits for
 *        ├─ elders                    were api before a SIGHUP, and have what they began; with keepers
 *        └─ pinfold-tls               with --tls-cert: ends TLS, and hands connections to api
 *
 * Sockets are opened before anything is started and handed down. The watcher holds the leash: a
 * pipe whose other end is the daemon's. When that dies it ends, and the others with it; a byte is
 * SIGHUP.
 */
#ifndef CMD_HTTP_INT_H
#define CMD_HTTP_INT_H

#include "api/serve.h"
#include "cmd/tls.h"

#define ELDERS_MAX 4u /* processes that were api; the oldest goes when there is one more */
#define HTTP_GROUP "pinfold"

/* Of one that takes orders (api/link.h). */
struct proc {
	pid_t pid, keeper; /* 0: none */
	int orders;	   /* our end */
	bool ready;	   /* it said so */
};
#define PROC_NONE                                                                                  \
	{                                                                                          \
		0, 0, FD_NONE, false                                                               \
	}

struct side {
	struct api_config config;
	char socket[108]; /* of the daemon */
	int door; /* the same, O_PATH, once it listens: api may not come to it by its path */
	char home[4096];
	int leash;
	const char *mcp_policy;				/* or NULL */
	bool root;					/* who started us was */
	struct proc api, next, runs, elder[ELDERS_MAX]; /* next: api as soon as it is ready */
	struct tls_side tls;
};

/* http_proc.c: start one and its keeper. */
void proc_start(struct side *s, struct proc *p, bool runner);

/* http_watch.c: what the watcher's process does; `ready`: told whether TLS can be ended. */
_Noreturn void http_watch(struct side *s, int ready);

#endif
