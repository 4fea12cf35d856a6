/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What serves the outside: the process behind HTTP, and `pinfold mcp`. It is a client of the daemon
 * (libpinfold) and holds nothing that a sandbox depends on.
 */
#ifndef API_API_H
#define API_API_H

#include "api/loop.h"

struct workers;
struct runs;
struct boxes;
struct tokens;
struct keeper;
struct metrics;
struct repeats;
struct snapshots;
struct quotas;
struct caller;
struct settler;
struct attendant;
struct server;
struct elders;
struct heirs;

struct api {
	struct loop *loop;
	struct workers *workers;
	struct runs *runs;     /* what ran, and what it printed: runs.h */
	struct boxes *boxes;   /* sandboxes that live, and their sessions: boxes.h */
	struct tokens *tokens; /* who may: tokens.h; NULL: nobody needs one */
	struct keeper *keeper; /* who has the store of workspaces: keeper.h; NULL: nobody */
	struct metrics *metrics;
	struct repeats *repeats;     /* requests that are done once: repeat.h */
	struct snapshots *snapshots; /* files of sandboxes that are gone: snapshots.h */
	struct settler *settler;     /* of the ledger: settler.h */
	struct attendant *attendant; /* of sandboxes' ways out: attend.h */
	struct quotas *quotas;	     /* what tenants may use: quota.h; NULL: as they like */
	struct caller *callers;	     /* tenants whose calls run: call.c; the loop's thread */
	struct server *server;	     /* NULL: none serves HTTP */
	struct elders *elders;	     /* what other processes have: elders.h; or NULL */
	struct heirs *heirs;	     /* who is told what we have: heirs.h; or NULL */
	/* Another room has something that requests may name: see heirs_key(). Or NULL. */
	void (*tell_more)(void *arg, struct heirs *h);
	void *tell_more_arg;
	int state;	    /* where we may write; FD_NONE: nowhere */
	int approvals;	    /* the box of questions; FD_NONE: that of the data directory */
	const char *log;    /* text, json; NULL: nothing is written */
	uint32_t run_flags; /* of libpinfold, for every run */
};

#endif
