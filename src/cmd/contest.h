/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contenders of `pinfold bench` and their rounds. A round takes one sample of each, in an order
 * that changes, with a pause before each in which the daemon makes the next sandbox that waits: as
 * in a service that is not overloaded.
 */
#ifndef CMD_CONTEST_H
#define CMD_CONTEST_H

#include "base/err.h"
#include "measure/contender.h"

#define CONTEST_MAX 6

struct entry;

struct contest {
	struct contender c[CONTEST_MAX];
	const struct entry *entry[CONTEST_MAX]; /* how to take a sample of the one at that place */
	size_t n;
	size_t samples;
	int signo; /* that ended it, 0 for none */
};

/* Who can be measured on this machine. */
int contest_init(struct contest *t, size_t samples, struct err *e);
/* Until all samples are there or a signal comes (sig.h). The daemon is the one of $PINFOLD_SOCKET;
 * streams_take() was called. Progress goes to `terminal` when it is not negative. */
void contest_run(struct contest *t, int terminal);
/* Everybody but the peer has a sample. */
bool contest_is_complete(const struct contest *t);
void contest_done(struct contest *t);

#endif
