/* SPDX-License-Identifier: Apache-2.0 */
/* The process that serves HTTP, from its sockets to its end. */
#ifndef API_SERVE_H
#define API_SERVE_H

#include <stdbool.h>

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
	int dir;       /* where tokens are; FD_NONE: nowhere */
	int state;     /* where we may write; FD_NONE: nowhere, and nothing is counted */
	int ledger;    /* directory of its chain; FD_NONE: the data directory's */
	bool settled;  /* somebody else settles that chain */
	int approvals; /* a box of questions, or FD_NONE */
	int keeper;    /* the keeper's socket; FD_NONE: there is none */
	const char *const *hosts, *const *origins;
	const char *log; /* text, json; NULL: nothing */
	bool open;	 /* as in server.h */
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
