/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that nobody waits for: the one that a held sandbox was made for, and those that were
 * sent into it to run in the background. Their output is kept (spool.h) for callers who follow it.
 */
#ifndef WARDEN_JOB_H
#define WARDEN_JOB_H

#include "warden/ward_int.h"

struct job;

/* Pipes for a command: `stdio` gets the ends that are its own, to be closed when it has them. */
int job_new(const struct ask *ask, struct job **ret, int stdio[3], struct err *e);
void job_close_theirs(int stdio[3]);
void job_free(struct warden *w, struct job *job);
/* Now the ward's own: its first. */
void job_give(struct ward *ward, struct job *job);
/* Send a command into a sandbox that lives. `client` is answered, and closed, when it has
 * started. */
int job_exec(struct warden *w, struct ward *ward, const struct ask *ask, int client, struct err *e);

/* The sandbox's own command runs; has ended. */
void job_started(struct warden *w, struct ward *ward, int pid, int *terminal);
void job_exited(struct ward *ward, int status);
/* The sandbox is gone: take what is left of their output, tell who follows. */
void jobs_over(struct warden *w, struct ward *ward);
void jobs_free(struct warden *w, struct ward *ward);
/* Those that printed too fast may again. */
void jobs_relent(struct warden *w);
/* How many background commands run; is there a command of its own, how did it end. */
unsigned jobs_running(const struct ward *ward);
bool job_is_own(const struct ward *ward);
bool job_status(const struct ward *ward, int *ret_status);

/* What callers ask of one, by its pid (0: the sandbox's own, or the first). */

/* All of them, as a memfd full of struct link_process. */
int job_list(const struct ward *ward, int *ret_fd, uint64_t *ret_n, struct err *e);
/* Send a caller what it printed; take the connection when they return 0. */
int job_follow(struct warden *w, struct ward *ward, const struct link_ask *ask, int client,
	       struct err *e);
int job_read(struct warden *w, struct ward *ward, const struct link_ask *ask, int client,
	     struct err *e);
/* Where its standard input is to be written to; borrowed. 1: it is typed into a terminal. */
int job_input(struct warden *w, struct ward *ward, uint32_t pid, int *ret_fd, struct err *e);
int job_close_input(struct ward *ward, uint32_t pid, struct err *e);
int job_resize(struct ward *ward, uint32_t pid, uint64_t size, struct err *e);
/* To its process group. */
int job_signal(struct ward *ward, uint32_t pid, uint64_t signo, struct err *e);

void job_event(struct warden *w, const struct source *source, uint32_t events);
void follower_event(struct warden *w, const struct source *source, uint32_t events);

#endif
