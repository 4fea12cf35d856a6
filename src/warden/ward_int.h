/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The warden's own view of a sandbox. For the files of warden/ only.
 *
 *	MAKING --> READY --> STARTING --> RUNNING --> [LEAVING] --> gone
 *	               new run ---^
 *
 * MAKING    the guest walks its plan; nobody wants it yet
 * READY     it waits for a claim, without any right
 * STARTING  somebody's run: the command is about to be executed
 * RUNNING   the caller has the guest's control socket; we hold its limits and its life
 * LEAVING   it is gone, but the caller does not read that
 */
#ifndef WARDEN_WARD_INT_H
#define WARDEN_WARD_INT_H

#include <stdbool.h>
#include <sys/socket.h>

#include "sandbox/ask.h"
#include "warden/demand.h"
#include "warden/live.h"
#include "warden/pressure.h"
#include "warden/queue.h"
#include "warden/warden.h"
#include "wire/link.h"

enum ward_state { WARD_MAKING, WARD_READY, WARD_STARTING, WARD_RUNNING, WARD_LEAVING };

enum source_kind {
	SOURCE_CONTROL,
	SOURCE_GUEST,
	SOURCE_CLIENT,
	SOURCE_LISTENER,
	SOURCE_OOM,
	SOURCE_WARD_KINDS,
	SOURCE_FRONT,
	SOURCE_SIGNAL,
	SOURCE_TIMER,
	SOURCE_JANITOR,
	SOURCE_PRESSURE,
	SOURCE_QUEUED,
};

/* What an epoll event is about. */
struct source {
	enum source_kind kind;
	struct ward *ward;
};

struct ward {
	enum ward_state state;
	struct live live;
	struct sandbox_spec spec;
	int client, listener, oom, terminal;
	int mounts; /* its mount namespace */
	bool warm, polled;
	enum ward_kind kind;
	bool answered; /* the caller knows that it failed */
	enum link_stop stop;
	struct link_msg pending; /* what a caller who does not read is told next */
	uint64_t memory_peak, pids_peak;
	bool pids_full;
	const char *argv[5]; /* of the interpreter */
	struct source sources[SOURCE_WARD_KINDS];
	struct ward *prev, *next;
	struct tenant *tenant;	      /* whose run it is; borrowed from the queue */
	uint64_t begun_us;	      /* when it became somebody's */
	uint64_t made_us;	      /* when it was begun */
	struct ward *older, *younger; /* of those READY, of its kind */
};

/* What waits: pool.c. */
struct pool {
	struct demand demand[KINDS];
	unsigned target[KINDS];			      /* how many are to wait now */
	struct ward *oldest[KINDS], *youngest[KINDS]; /* READY */
	unsigned n_ready;
	uint64_t measured_us[KINDS];
	struct pressure pressure;
	struct source stalls[2];
};

struct warden {
	const struct warden_config *config;
	struct cgroup_host cgroups;
	int epoll, front, signals, timer, janitor;
	struct source own[4];
	struct pool pool;
	struct queue queue;
	struct ward *wards;
	unsigned n_wards;   /* all of them */
	unsigned n_waiting; /* MAKING or READY, of all kinds */
	unsigned waiting[KINDS];
	unsigned n_polled;
	unsigned events;   /* since a request was served that waited */
	unsigned failures; /* in a row, to make one that waits */
	uint64_t retry_us; /* not before that, after some */
	bool draining;
	uint64_t drain_until_us;
};

/* ward.c: one sandbox. ward_run() owns `client` when it returns 0; the other descriptors are
 * borrowed. */
struct ward *ward_new(struct warden *w);
/* What every sandbox of ours has. */
int ward_spec(const struct warden *w, struct sandbox_spec *spec, struct err *e);
int ward_watch(struct warden *w, struct ward *ward, struct err *e);
/* Nobody's yet. */
bool ward_waits(const struct ward *ward);
int ward_run(struct warden *w, const struct ask *ask, const struct ucred *who,
	     const int fds[LINK_FDS_MAX], int client, struct err *e);
void ward_event(struct warden *w, const struct source *source, uint32_t events);
/* Limits that no group holds. */
void ward_poll(struct warden *w);
/* Kill it and remove all of it; tells the caller, if there is one. */
void ward_end(struct warden *w, struct ward *ward);
/* Say no on a connection. */
void ward_refuse(int client, const struct err *e);

uint64_t warden_now_us(void);
int warden_watch(struct warden *w, int fd, struct source *source, struct err *e);

#endif
