/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The warden's own view of a sandbox. For the files of warden/ only.
 *
 *	MAKING --> READY --> STARTING --> RUNNING --> [LEAVING] --> gone
 *	               new run ---^            \--> [LEFT] ----------^
 *
 * MAKING    the guest walks its plan; nobody wants it yet
 * READY     it waits for a claim, without any right
 * STARTING  somebody's run: the command is about to be executed
 * RUNNING   the caller has the guest's control socket; we hold its limits and its life. One that is
 *           held lives without a caller: the control socket, its output and its time are ours, too
 * LEAVING   it is gone, but the caller does not read that
 * GONE      the caller knows; its groups and mounts are removed in the next pause
 * LEFT      one that was held is gone; what its command printed is kept for a while
 */
#ifndef WARDEN_WARD_INT_H
#define WARDEN_WARD_INT_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/discard.h"
#include "alert/alert.h"
#include "sandbox/ask.h"
#include "sandbox/notify.h"
#include "warden/demand.h"
#include "warden/live.h"
#include "warden/pressure.h"
#include "warden/queue.h"
#include "warden/warden.h"
#include "wire/link.h"
#include "wire/look.h"

enum ward_state {
	WARD_MAKING,
	WARD_READY,
	WARD_STARTING,
	WARD_RUNNING,
	WARD_LEAVING,
	WARD_LEFT,
	WARD_GONE,
};

enum source_kind {
	SOURCE_CONTROL,
	SOURCE_GUEST,
	SOURCE_CLIENT,
	SOURCE_LISTENER,
	SOURCE_OOM,
	SOURCE_GUARD, /* guard.c */
	SOURCE_WARD_KINDS,
	SOURCE_FRONT,
	SOURCE_SIGNAL,
	SOURCE_TIMER,
	SOURCE_JANITOR,
	SOURCE_VISITOR, /* visit.c */
	SOURCE_JOB_OUT, /* job.c, these five */
	SOURCE_JOB_ERR,
	SOURCE_JOB_CTL,
	SOURCE_JOB_FEED,
	SOURCE_FOLLOWER,
	SOURCE_PRESSURE,
	SOURCE_QUEUED,
	SOURCE_ZYGOTE, /* zygote.c */
	SOURCE_LOOK,   /* look.c */
	SOURCE_CALLER, /* caller.c */
};

/* What an epoll event is about. */
struct source {
	enum source_kind kind;
	struct ward *ward;
	void *of; /* the visitor, the job or the follower */
};

/* What waits with packages: layered.c. */
#define LAYERED_MAX 16u
struct layered {
	struct bundle *said; /* NULL: a free place */
	int fd[DEPS_GIVEN_MAX];
	struct layer_id {
		uint64_t mount, ino;
	} id[DEPS_GIVEN_MAX]; /* of the layers themselves */
	uid_t uid;	      /* whose */
	gid_t gid;
	struct demand_uses uses;
	bool refused; /* it cannot be waited with */
	struct demand demand;
	unsigned n; /* MAKING and READY */
	const char *links[SANDBOX_LINKS_MAX + 1];
};

struct ward {
	enum ward_state state;
	struct live live;
	struct sandbox_spec spec;
	int client, listener, oom, terminal;
	struct plan *claim;	       /* of one that was claimed, until the guest has it */
	int mounts;		       /* its mount namespace */
	int net;		       /* its network namespace, if that is of the stock */
	int layers;		       /* by which its packages are held (wire/bundle.h) */
	struct link_layers layered_on; /* which they are */
	bool warm, polled;
	bool resting;	     /* polled, but nobody is inside: not looked at until somebody may be */
	unsigned seen_empty; /* polls in a row that found nobody */
	enum ward_kind kind;
	struct layered *layered; /* waits with packages; borrowed, NULL: not */
	uint64_t cpu_us, bytes;	 /* then: used and held when it was looked at last */
	bool watching;		 /* it has an inotify instance of the host's */
	bool answered;		 /* the caller knows that it failed */
	bool keep;		 /* the caller stays on his connection (caller.c) */
	bool asked;		 /* the caller wanted to know of its end before the guest's, */
	bool told;		 /* and knows */
	enum link_stop stop;
	bool held;   /* lives without a caller */
	bool nursed; /* a thread of its guest starts commands */
	bool paused;
	bool alarmed; /* an alert has ended or paused it */
	uint32_t alerts;
	struct alert_rate rate;
	struct notify_event withheld; /* of one that was stopped: answered when it goes on */
	bool grouped;		      /* a control group holds its limits */
	bool warned;		      /* its time is over, SIGTERM was sent */
	bool timed;		      /* somebody gave it a time; its use gives it no other */
	uid_t owner;
	uint64_t made_ms, ended_ms; /* since 1970 */
	uint64_t expires_ms;	    /* the same instant as deadline_us when that was set */
	uint64_t deadline_us;	    /* held: when its time is over; LEFT: when it is forgotten */
	char command[160];	    /* as text, for lists */
	char *metadata;		    /* the asker's: "key=value" and NUL, each; NULL: none */
	uint32_t metadata_len;
	char *variables; /* that its commands have: "KEY=VALUE" and NUL, each (variables.c) */
	uint32_t variables_len;
	char imported[WARDEN_IMPORTED_MAX + 1]; /* what the guest said last */
	struct ward_guard *guard;		/* who decides about commands; NULL: nobody need */
	struct job *jobs;			/* the first is its own command, if it has one */
	struct visitor *visitors;
	unsigned n_visitors;
	struct ward *same_hash;
	struct ward *gone_next;
	struct link_msg pending; /* what a caller who does not read is told next */
	uint64_t memory_peak, pids_peak;
	bool pids_full;
	uint64_t relieved; /* how often the largest process was killed, where no group does that */
	bool relieving;	   /* just now: its memory may not be back yet */
	const char *argv[6]; /* of the interpreter */
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

/* Network namespaces that are as new: stock.c. */
#define STOCK_MAX 16u
#define STOCK_LESSONS 2u /* how many new ones are looked at, to know what one shows */
struct stock {
	bool on;
	int own; /* the warden's */
	int fd[STOCK_MAX];
	unsigned n, learned;
	char *fresh, *seen; /* what a new one shows, and room for another */
	size_t len;
};

/* Where Pythons are forked from (zygote.c). */
struct zygote {
	bool there;
	struct live live;
	bool pooled;	   /* where we are not root: */
	int pool;	   /* the user namespace that it is in, and its forks' sandboxes below */
	int sock;	   /* requests (wire/fork.h) */
	bool proved;	   /* one of its forks was ready */
	unsigned forks;	   /* that it was asked for */
	unsigned failures; /* it died before one of its forks was ready */
	uint64_t started_us;
	struct source source; /* of the guest's pidfd */
};

#define WARD_HASH 1024u

struct warden;
/* ward_end.c: who keeps the record hears of it; which sandbox and whose is filled in. */
void warden_tell(const struct warden *w, const struct ward *ward, struct warden_news *news);

struct warden {
	const struct warden_config *config;
	struct cgroup_host cgroups;
	int epoll, front, signals, timer, janitor;
	uint64_t front_since_us,
		front_due_us;  /* it was started then; is to be then, 0: it is there */
	unsigned front_deaths; /* soon after its start, in a row */
	struct shunned shunned;
	struct source own[4];
	struct pool pool;
	struct stock stock;
	struct queue queue;
	struct ward *wards;
	unsigned n_wards;   /* all of them */
	unsigned n_waiting; /* MAKING or READY, of all kinds */
	unsigned waiting[KINDS];
	unsigned n_polled;		     /* that are looked at: not those that rest */
	unsigned n_gone;		     /* GONE, */
	struct ward *first_gone, *last_gone; /* in the order they ended */
	uint64_t ended_us;		     /* when the last one did */
	unsigned n_left;		     /* LEFT */
	unsigned n_throttled;		     /* jobs that print too fast */
	uint64_t next_deadline_us;	     /* 0: none */
	struct ward *by_id[WARD_HASH];
	unsigned events;   /* since a request was served that waited */
	unsigned failures; /* in a row, to make one that waits */
	uint64_t retry_us; /* not before that, after some */
	struct zygote zygote;
	struct {
		int sock; /* FD_NONE: nobody looks */
		struct source source;
		uint64_t started_us;
		unsigned young; /* that died soon after their start, in a row */
		unsigned generation;
		bool taken[LOOK_PLACES];
	} look;
	struct layered layered[LAYERED_MAX];
	struct {
		struct caller *first; /* who has been silent for longest */
		unsigned n;
	} callers;
	unsigned n_watching;
	bool draining;
	bool timer_armed;
	uint64_t drain_until_us;
};

/* How many are somebody's. */
static inline unsigned warden_running(const struct warden *w)
{
	return w->n_wards - w->n_waiting - w->n_left - w->n_gone;
}

/* make.c: from a request to a ward. ward_run() and ward_create() own `client` when they return 0;
 * the other descriptors are borrowed. */
int ward_run(struct warden *w, const struct ask *ask, const struct ucred *who,
	     const int fds[LINK_FDS_MAX], int client, struct err *e);
/* One that is held. */
int ward_create(struct warden *w, const struct ask *ask, const struct ucred *who,
		const int fds[LINK_FDS_MAX], int client, struct err *e);
/* A command for a sandbox that is there already: for plan_new_claim(). */
void ward_command(const struct ward *ward, const struct ask *ask, struct sandbox_spec *ret);
/* It is about to be made: may the packages that it uses be watched? An inotify instance is the host's,
 * of which there are few. */
void ward_watching(struct warden *w, struct ward *ward);
/* What every sandbox of ours has. */
int ward_spec(const struct warden *w, struct sandbox_spec *spec, struct err *e);

/* ward.c: one sandbox. */
struct ward *ward_new(struct warden *w);
/* Nothing of it is on the host any more. */
void ward_free(struct warden *w, struct ward *ward);
int ward_watch(struct warden *w, struct ward *ward, struct err *e);
/* Nobody's yet. */
bool ward_waits(const struct ward *ward);
/* By the id that its owner knows; not one that waits. NULL: there is none. */
struct ward *ward_find(const struct warden *w, const char *id);
void ward_index(struct warden *w, struct ward *ward);
void ward_unindex(struct warden *w, struct ward *ward);
/* Let it die; ward_end() follows when it has. */
void ward_kill(struct ward *ward, enum link_stop why);
/* Say no on a connection. */
void ward_refuse(int client, const struct err *e);
/* False: the caller does not read, and is told when he does (ward_await_reader). */
bool ward_tell(const struct ward *ward, const struct link_msg *msg, const int *fds, unsigned n);
void ward_await_reader(const struct warden *w, struct ward *ward);
/* What kind of sandbox it is. */
void ward_describe(const struct ward *ward, struct link_msg *msg);

/* ward_event.c: what is heard of it. */
void ward_event(struct warden *w, const struct source *source, uint32_t events);
/* The caller gets the control socket with the claim itself, where the guest needs nothing of us any
 * more: what follows is between the two. */
int ward_hand_over(struct warden *w, struct ward *ward, const int stdio[3], struct err *e);

/* ward_end.c: kill it and remove all of it; tells the caller, if there is one. */
void ward_end(struct warden *w, struct ward *ward);
/* All but the guest were waited for, says the guest, and it is about to end: the caller need not
 * wait for that. The accounts are a group's, or what the guest has told him. */
void ward_tell_early(struct warden *w, struct ward *ward);
/* He does not want to know any more. Reading the accounts takes a tenth of a short run: they are not read. */
void ward_tell_nobody(struct ward *ward);
/* Remove what the one that ended first still has on the host. */
void ward_sweep_gone(struct warden *w);

/* ward_limit.c: it is about to run, and has a group if it ever will. */
void ward_watch_memory(struct warden *w, struct ward *ward);
/* Limits that no group holds. */
void ward_poll(struct warden *w);
/* Somebody may get in: its limits are looked at again. */
void ward_rouse(struct warden *w, struct ward *ward);
/* Those whose time is over. */
void ward_expire(struct warden *w);
void ward_set_deadline(struct warden *w, struct ward *ward, uint64_t at_us);
/* SIGTERM to all in one that is held. */
void ward_ask_to_end(struct ward *ward);
/* How many of its processes were killed for want of memory so far. */
uint64_t ward_oom_kills(const struct ward *ward);
/* How many could not be started for its limit of processes; 0 where no control group counts
 * them. */
uint64_t ward_pids_refused(const struct ward *ward);
/* Was that the end of a command which ended with this wait status? `before`: as it was when it
 * began. A shell passes on what became of the last program that it started. */
bool ward_was_oom(const struct ward *ward, uint64_t before, int status);

/* op.c. 1: by a signal, which is on its way. */
int ward_set_paused(struct ward *ward, bool pause, struct err *e);
/* alarm.c: something was refused in it. False: do not answer who is killed for it, nor yet who is
 * stopped, so that he cannot be faster than the signal. */
bool ward_refused(const struct warden *w, struct ward *ward, const struct notify_event *ev);
/* Something was found in what a command of the background printed. */
void ward_printed(struct warden *w, const struct look_found *f);

uint64_t warden_now_us(void);
uint64_t warden_now_ms(void); /* since 1970 */
int warden_watch(struct warden *w, int fd, struct source *source, struct err *e);
void warden_unwatch(const struct warden *w, int fd);

#endif
