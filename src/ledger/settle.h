/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens to events behind the backs of those who append them: to disk within 50 ms, into the
 * tree, and under a signed checkpoint, at least every second. One settles at a time (the lock of
 * `settle`); all others know that it will see their events, too, and leave it to that one.
 *
 *	tree		hashes of whole subtrees, 32 bytes each, where tree_place() says
 *	offsets		of event n at 8n, little endian: where its line begins in its file
 *	checkpoints	signed notes (note.h), one behind the other
 *
 * `tree` and `offsets` are made of the events and can be made again; nothing is believed of them
 * that the last checkpoint does not confirm.
 */
#ifndef LEDGER_SETTLE_H
#define LEDGER_SETTLE_H

#include <stdbool.h>

#include "ledger/note.h"
#include "ledger/scan.h"

#define SETTLE_SYNC_MS 30
#define SETTLE_CHECKPOINT_MS 1000

/* Does nobody settle now? Then who has appended should. */
bool settle_is_due(int dir);
/* Until nothing new comes: 0, also when somebody else does. Waits; for a thread or process of its
 * own. */
int settle(int dir, struct err *e);
/* Once, now, and wait for whoever is at it. */
int settle_now(int dir, struct err *e);
/* The same, but for who is at it, which may last as long as others write, no longer than so long. */
int settle_within(int dir, uint32_t ms, struct err *e);
/* Another key signs from now on; an event that the old one has signed says so. */
int settle_rotate(int dir, struct err *e);

/* The newest checkpoint: 1, or 0 where there is none. */
int settle_last(int dir, struct note *ret, struct err *e);
/* For proofs: reads `tree`; arg points to its descriptor. */
int settle_read(void *arg, uint64_t place, struct tree_hash *ret, struct err *e);
int settle_open_tree(int dir, struct err *e);
/* Set a scan to event `at`, which a checkpoint covers. */
int settle_seek(int dir, struct scan *s, uint64_t at, struct err *e);
/* The same, or before it where no checkpoint covers that yet. */
int settle_seek_near(int dir, struct scan *s, uint64_t at, struct err *e);
/* What the old key signs when it hands over. Returns its length. */
size_t settle_handover(const char *chain, const struct public_key *next, char ret[NOTE_SIZE]);

#endif
