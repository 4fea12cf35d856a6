/* SPDX-License-Identifier: Apache-2.0 */
/* The process that serves HTTP, from its sockets to its end. */
#ifndef API_SERVE_H
#define API_SERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/door.h"
#include "base/err.h"

struct server;
struct api;

struct api_listen {
	int fd; /* taken */
	enum api_way way;
};

struct api_config {
	struct api_listen listen[8];
	unsigned n_listen;
	int dir;      /* where tokens are; FD_NONE: nowhere */
	int state;    /* where we may write; FD_NONE: nowhere, and nothing is counted */
	int ledger;   /* directory of its chain; FD_NONE: the data directory's */
	int kept;     /* where runs that can be repeated are kept; FD_NONE: in the data directory */
	bool settled; /* somebody else settles that chain */
	int orders;   /* the watcher's (link.h); FD_NONE: there is none, and we listen at once */
	bool runner;  /* we are it */
	uint64_t keep_ms, keep_bytes; /* of results: runs_keep() */
	int approvals;		      /* a box of questions, or FD_NONE */
	int keeper;		      /* the keeper's socket; FD_NONE: there is none */
	const char *const *hosts, *const *origins;
	const char *log;	/* text, json; NULL: nothing */
	bool open, open_probes; /* as in server.h */
	/* More paths, from rooms that we do not see; or NULL. */
	void (*mount)(struct api *api, struct server *s, void *arg);
	void *mount_arg;
};

/* Until SIGTERM or SIGINT: no new connection then, what runs has ten seconds. */
int api_serve(const struct api_config *config, struct err *e);

/* What serves is made of; for `pinfold mcp`, too. */
int api_open(struct api *api, struct err *e);
void api_close(struct api *api);

#endif
