/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands in workspaces that go on without us. The store is the caller's, not the daemon's, so a
 * process of his own minds each of them: it is the one that ran `pinfold exec --detach NAME`, in a
 * session of its own, and freezes the layer when the command ends. It keeps, below the data
 * directory:
 *
 *	jobs/SANDBOX/about	what it is: one JSON object
 *	jobs/SANDBOX/stdout, stderr	what was printed, the first JOB_OUTPUT_MAX bytes of each
 *	jobs/SANDBOX/control	a FIFO: one byte is a signal to send; SIGKILL ends the run
 *	jobs/SANDBOX/lock	locked by who minds it; free: it is over
 *	jobs/SANDBOX/result	the result document, there when it is over and was not killed with us
 *
 * An hour after its end the next one that begins removes it.
 */
#ifndef CMD_JOB_H
#define CMD_JOB_H

#include <stdio.h>

#include "base/value.h"
#include "cmd/request.h"

#define JOB_OUTPUT_MAX (64ull << 20)

/* Start it and print its sandbox's id. In the process that minds it this returns when it is over.
 * `fresh`: the workspace is made for it. The exit status. */
int job_start(struct request *r, const char *name, uint32_t flags, bool fresh);
/* In that process, once the command runs: tell who waits for the id, and stay until its end. */
int job_mind(const struct request *r, struct pinfold_run *run);

/* Its directory, by the id of its sandbox or of its run; -ENOENT: it is none of ours. */
int job_open(const char *id);
/* Is somebody minding it? */
bool job_lives(int dir);
/* A document in its directory, NULL: it has none. */
struct value *job_read(int dir, const char *name);
/* Print what it printed, from `offset` on (from its end: negative) or from now on, and stay. The
 * exit status: its own, with `stay`. */
int job_follow(const struct request *r, int dir, bool stay, bool now);
/* 0, or -1 and *error. SIGKILL: returns when nothing is left of it; one that is over is forgotten. */
int job_signal(int dir, const char *id, int signo, struct pinfold_error *error);
/* All of them, in a list that pinfold_sandbox_list() gave or NULL, which grows. 0 or -ENOMEM. */
int job_list(struct pinfold_sandbox_info **list, size_t *n);
/* It never was. */
void job_forget(const char *sandbox);
/* Remove those that were over an hour ago. */
void job_sweep(void);
/* The whole output of a run that is kept as an artifact. The exit status. */
int job_artifacts(const char *run);

#endif
