/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandboxes that live, as the outside knows them: by id, or by a name that its tenant chose; with
 * the channel to their files and their sessions. The daemon has the sandboxes; what is here can be
 * forgotten and is found again by their metadata.
 *
 * All functions are for handlers' threads. A box that is found is held until box_put().
 */
#ifndef API_BOXES_H
#define API_BOXES_H

#include <pthread.h>

#include "api/api.h"
#include "api/call.h"

struct pinfold_files;
struct pinfold_run_options;
struct pinfold_session;
struct pinfold_watch;

#define BOX_NAME_SIZE 33
#define BOX_SESSIONS_MAX 16u
#define BOX_PORTS_MAX 16u
#define BOX_IDLE_MS (30u * 60 * 1000) /* of a named one, after its last use */

/* An interpreter that stays. Who has it from box_session() has it alone. */
struct session {
	char name[BOX_NAME_SIZE];
	char id[32];
	char lang[8];
	struct pinfold_session *handle; /* NULL: it died; made anew by box_session() */
	struct pinfold_watch *watch; /* of the files in /home/user, where they are many: changed.h */
	bool unwatchable;	     /* there are too many directories */
	bool busy;
	char run[32]; /* what it is busy with */
	/* A line that its code wants; under the box's lock. */
	bool asking;
	bool answered; /* `line` is there, NULL: there is none; `wake` is readable */
	char *line;
	int wake; /* FD_NONE until code with input is executed */
	uint64_t since_ms;
	struct session *next;
};

struct box {
	char id[32]; /* the daemon's */
	char tenant[TENANT_SIZE];
	char name[BOX_NAME_SIZE]; /* "" for none */
	uint64_t idle_ms; /* 0: it has a time to live of its own; else extended at each use */

	/* boxes.c */
	pthread_mutex_t lock;
	struct pinfold_files *files;   /* under lock */
	struct session *sessions;      /* under lock */
	uint16_t ports[BOX_PORTS_MAX]; /* that are forwarded; 0: none; under lock */
	unsigned refs;
	bool gone;
	bool out_of_memory; /* which ended it, or is about to; under lock */
	uint64_t until_ms;  /* when its time is over, by loop_now_ms(); 0: not known; under lock */
	bool told;	    /* by boxes_tell() */
	bool is_open;	    /* its policy is all of the operator's ceiling */
	uint64_t known_ms;  /* since when we know of it */
	char *packages; /* that it was made with, as pinfold_deps_hold() says it; NULL: none known */
	_Atomic int64_t changed_ns; /* when a call last changed files, by changed.c */
	uint64_t extended_ms;	    /* when the daemon was last told that it is used; under lock */
	struct box *next;
};

int boxes_new(struct boxes **ret, struct err *e);
void boxes_free(struct boxes *b);

/* `arg`: what the caller calls it. */
int box_check_name(const char *arg, const char *name, struct err *e);
/* name NULL or "": none. ttl_ms 0: ten minutes, or, with a name, BOX_IDLE_MS after its last use. */
struct box *box_create(struct api *api, const struct who *who, const char *name,
		       const struct pinfold_run_options *o, uint64_t ttl_ms, struct err *e);
/* By id (sbx…) or name; not_found.sandbox says which there are. */
struct box *box_find(struct api *api, const struct who *who, const char *id, struct err *e);
/* By name; made with the defaults when there is none. */
struct box *box_named(struct api *api, const struct who *who, const char *name, struct err *e);
void box_put(struct api *api, struct box *b);
/* Ends it, its sessions and processes; what it printed is forgotten. */
int box_destroy(struct api *api, struct box *b, struct err *e);
/* Is it still there, by the daemon's word? */
bool box_lives(const struct box *b);
/* A command in it used more memory than there is, and the sandbox ended with it. */
void box_overfull(struct box *b);
/* Its time is another from now on: ttl_ms of its own, or with 0 what it was. */
void box_timed(struct box *b, uint64_t ttl_ms);
/* Those of the tenant, as JSON objects in an array, from the daemon; by id, from the newest. */
struct boxes_page {
	const char *metadata; /* KEY=VALUE, or KEY: only those that have it; NULL: all */
	const char *after;    /* only older ones than that id; NULL: all */
	size_t limit;	      /* 0: all */
	char next[32];	      /* out: the last id, where there are more; else "" */
};
struct value *boxes_some(struct api *api, const struct who *who, struct boxes_page *page,
			 struct err *e);
struct value *boxes_list(struct api *api, const struct who *who, struct err *e);
/* One of them. */
struct value *box_describe(struct api *api, struct box *b, struct err *e);

struct pinfold_sandbox_info;
/* Whose it is; "": not one of ours. */
const char *sandbox_tenant(const struct pinfold_sandbox_info *info);
/* Of one of ours: the image it is on, "" for the host's; whether it is uid 0 inside. */
const char *sandbox_image(const struct pinfold_sandbox_info *info);
bool sandbox_is_root(const struct pinfold_sandbox_info *info);

/* The channel to its files, for the caller alone until box_files_put(). broken: an operation timed
 * out or the channel is gone; the next caller gets a new one. */
struct pinfold_files *box_files(struct box *b, struct err *e);
void box_files_put(struct box *b, bool broken);

/* Ports inside that may be reached from outside. None is at first; who starts us anew finds
 * none. */
int box_port_open(struct box *b, unsigned port, struct err *e);
bool box_port_close(struct box *b, unsigned port);
bool box_port_is_open(struct box *b, unsigned port);
/* One of them: its number, and where it is reached. */
struct value *port_describe(const struct box *b, unsigned port);

/* A session by name or id, made (lang) when it is not there; lang NULL: it must be there. Busy when
 * somebody has it. */
struct session *box_session(struct box *b, const char *name, const char *lang, bool reset,
			    struct err *e);
void box_session_put(struct box *b, struct session *s);
void session_free(struct session *s);
/* From any thread: what it does now ends with KeyboardInterrupt. */
int box_session_interrupt(struct box *b, const char *name, struct err *e);
int box_session_close(struct box *b, const char *name, struct err *e);
/* The line that it asks for; NULL: there is none. From any thread; conflict when it does not
 * ask. */
int box_session_answer(struct box *b, const char *name, const char *line, struct err *e);

/* Which sandboxes have sessions or ports that only this process has, by heirs_key(); all: also
 * those that were told before. */
struct heirs;
void boxes_tell(struct boxes *b, struct heirs *h, bool all);
/* Is there one? Asks the daemon now and then. */
bool boxes_held(struct boxes *b);

/* A tar inside that packs /home/user to its standard output, or unpacks there what it is given. */
struct pinfold_run;
int box_tar(struct call *c, struct box *b, bool extract, struct pinfold_run **ret, struct err *e);

/* An error of the library as one of ours. Returns the negative value. */
struct pinfold_error;
int api_error(struct err *e, const struct pinfold_error *from);
/* And back, for what the library asks of us. */
void api_public(const struct err *e, struct pinfold_error *ret);

#endif
