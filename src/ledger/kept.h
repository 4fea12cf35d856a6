/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file that this process appended to last stays open, and how it ended is remembered: who
 * appends often neither opens it nor reads its last line. It is sound because a whole event is
 * never taken away again: a file of the same size still ends with what we wrote.
 *
 * Its lock is the open file's, so threads take turns, and a child of fork() closes it before it
 * would share it. Programs that are executed never have it.
 */
#ifndef LEDGER_KEPT_H
#define LEDGER_KEPT_H

#include <stdbool.h>
#include <stdint.h>

#include "ledger/event.h"
#include "ledger/tree.h"

/* How a file ends. */
struct tail {
	bool any; /* it has a whole event: the last one is */
	struct event_head head;
	struct tree_hash leaf;
	char latest[EVENT_INSTANT + 1]; /* time of any event so far */
	uint64_t end;			/* where that ends */
	uint64_t torn;			/* bytes behind it */
	char *torn_bytes;		/* in the reader's buffer */
};

/* `events` of this directory, locked, and its size; FD_NONE: another file is kept, or none. How it
 * ends is told if nobody wrote since. Other threads wait until kept_give(). */
int kept_take(int dir, uint64_t *ret_size, bool *ret_known, struct tail *ret);
/* This one is the file from now on; the one before is closed. */
void kept_change(int fd);
/* It ends so now, and its lock is let go; t NULL: it is closed. */
void kept_give(const struct tail *t);

#endif
