/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run between its start and its end: output to the caller as it comes, the caller's input to
 * the command, signals to the run. One poll loop in which only poll blocks, because the run's
 * limits are kept by it.
 *
 *	running ──RESULT──> draining ──all written, reader gone, or signal──> done
 *
 * While running, a reader that is slow holds the command back (pinfold_run_hold), not the loop.
 * While draining nothing of the sandbox is left; what the command printed is still delivered.
 */
#ifndef CMD_STREAM_H
#define CMD_STREAM_H

#include <pinfold/pinfold.h>
#include <stdbool.h>

#include "cmd/escape.h"
#include "cmd/feed.h"
#include "cmd/sink.h"

struct lane { /* one stream of the command */
	struct sink *sink;
	struct escape escape;
	bool escaped;
};

struct stream {
	struct pinfold_run *run; /* borrowed */
	struct sink sinks[2];
	struct lane lanes[2]; /* standard output, standard error; without sinks until needed */
	struct feed feed;
	bool quiet;	/* output is not shown: the result document holds it */
	bool raw;	/* control sequences reach a terminal */
	bool terminal;	/* the caller's terminal follows the command's */
	bool leaves;	/* Ctrl-] hangs up */
	bool pauses;	/* its first alert, still to come, pauses it, */
	bool resumes;	/* and SIGCONT lets it go on */
	bool same_file; /* standard output and standard error are one file, pipe or terminal */
	bool held;	/* the command is held back */
	bool more;	/* events were left for the next round */
	bool stopped;	/* ended by a signal or a limit, not by itself */
	bool ended;
	int signo;	      /* the first signal that told us to stop, 0 for none */
	int signals;	      /* how many there were */
	long long give_up_ms; /* draining, after a signal: when to stop waiting for a reader */
};

struct stream_options {
	int stdin_fd; /* borrowed; < 0 for none */
	bool quiet;
	bool raw; /* pass control sequences to a terminal */
	bool terminal;
	bool leaves; /* Ctrl-] hangs up */
	bool pauses; /* its first alert pauses it */
};

void stream_init(struct stream *s, struct pinfold_run *run, const struct stream_options *o);
/* Returns when the run has ended and its output is written. */
void stream_loop(struct stream *s);
/* Whether what we print on standard error next would begin in the middle of a line. */
bool stream_mid_line(const struct stream *s);
void stream_done(struct stream *s);

#endif
