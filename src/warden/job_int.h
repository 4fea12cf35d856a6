/* SPDX-License-Identifier: Apache-2.0 */
/* A command that nobody waits for, as job.c, follow.c and feed.c see it. For these files only. */
#ifndef WARDEN_JOB_INT_H
#define WARDEN_JOB_INT_H

#include "base/hash.h"
#include "warden/job.h"
#include "warden/spool.h"

struct feed;
struct follower;

struct job {
	struct ward *ward;
	int ctl;    /* the guest's word on it; FD_NONE: it is the sandbox's own command */
	int out[2]; /* its output, or a terminal's master in the first */
	int input;  /* where its standard input can be written to, FD_NONE: nowhere */
	int client; /* who is to hear that it started */
	int pid;    /* inside; 0: it does not run yet */
	bool own;   /* the sandbox's own command */
	bool pty;
	bool over, known;
	int status;
	uint64_t oom_before; /* when it began */
	bool oom;	     /* which ended it */
	uint64_t started_us, ended_us;
	uint64_t started_ms, ended_ms; /* since 1970 */
	char command[160];
	struct spool spool;
	struct hash output[2]; /* all of it, also what the spool has let go */
	uint64_t output_bytes[2];
	uint32_t look_place;	  /* 1 + where its output is looked at (look.c); 0: nowhere yet, */
	unsigned look_generation; /* by whom */
	size_t budget;
	bool throttled;
	struct follower *followers;
	unsigned n_followers;
	struct feed *feed; /* what is typed into its terminal, NULL: nothing yet */
	struct source sources[3];
	struct job *next;
};

/* The one with that pid, 0: its own, or its first. NULL and an error: there is none. */
struct job *job_find(const struct ward *ward, uint32_t pid, struct err *e);
/* Who ended it, if somebody did. */
enum link_stop job_stop(const struct job *job);
void job_describe(const struct job *job, struct link_process *ret);

/* follow.c: all that there is for everybody who listens. */
void followers_push(struct warden *w, struct job *job);
void followers_drop(struct warden *w, struct job *job);

/* feed.c: the terminal can take more; is something waiting for that? */
void feed_flush(struct warden *w, struct job *job);
bool feed_waits(const struct job *job);
void feed_close(struct warden *w, struct job *job);
void feed_event(struct warden *w, struct job *job);

/* Watch its output, or a terminal for more, as it is now. */
void job_watch_output(struct warden *w, struct job *job, int i);
void job_close_fd(const struct warden *w, int *fd);

#endif
