/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which events are of a run, so that nobody has to read all others to find them.
 *
 *	runs	blocks of RUNS_EVENTS events, block n at n times its size, little endian:
 *		16 bytes	of the hash of its last event; zeros where a block is not whole
 *		8 bytes		how many words follow that mean something
 *		8 bytes each	48 bits of a mark of the run's id, 16 of the event's place in the block; sorted
 *
 * Who settles makes a block when a checkpoint covers all of its events, and each is on disk before
 * its head is. Like `tree` it is made of the events and can be made again. It only says where to
 * look: a line is of a run when it says so. Events behind the last block are read one by one.
 */
#ifndef LEDGER_RUNS_H
#define LEDGER_RUNS_H

#include <stdbool.h>

#include "ledger/scan.h"

#define RUNS_FILE "runs"
#define RUNS_EVENTS 8192u

/* Blocks for the events that are under a checkpoint; who calls holds the lock of `settle`. */
int runs_grow(int dir, uint64_t covered, struct err *e);

/* The way to the events of one run. */
struct runs {
	int dir;	  /* borrowed */
	uint64_t *at;	  /* events that may be of it, in their order */
	size_t n, i;	  /* how many, and which is next */
	uint64_t covered; /* from here on every event may be */
	uint64_t next;	  /* event that the scan stands before */
	bool tail;	  /* it is where every event is told */
};

int runs_open(int dir, const char *run, struct runs *ret, struct err *e);
void runs_close(struct runs *r);
/* As scan_next(), without most of the events that are of others. */
int runs_next(struct runs *r, struct scan *s, struct scan_line *ret, struct err *e);

#endif
