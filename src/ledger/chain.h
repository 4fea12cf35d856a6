/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chain's writer. A chain is a directory of its own, mode 0700:
 *
 *	events		the newest events (event.h), appended by one write() each
 *	events.NNN	older ones: NNN is the place of their first
 *	tree offsets checkpoints	made of them by settle.c
 *	key key.pem key.verifier	the notary's; the public half in two forms
 *	keys				public halves of all that there were
 *	tombstone			what was pruned (tombstone.h)
 *	lost				how many events could not be written (gap.c)
 *
 * One writes at a time: who holds the lock of `events`. What is needed to go on is in the last
 * line, so there is no state beside the events that could differ from them. An event is in the
 * kernel's hands when chain_append() returns: it outlives the process, and the machine once it is
 * on disk (settle.h).
 *
 * What could not be written at all is counted, and the next event that can be has an event
 * `ledger.gap` before it (gap.c).
 *
 * A last line that is not whole, because a writer died or the disk was full, is cut off by the next
 * one, who says so in an event `ledger.cut` with the number of bytes and their hash.
 */
#ifndef LEDGER_CHAIN_H
#define LEDGER_CHAIN_H

#include "base/err.h"
#include "base/id.h"
#include "base/value.h"
#include "ledger/tree.h"

#define CHAIN_SEGMENT_BYTES (64u << 20)
#define CHAIN_KEYS "keys"
#define CHAIN_KEYS_BYTES (64u << 10)

/* Where an event is. */
struct chain_place {
	char chain[ID_SIZE];
	uint64_t at;
	struct tree_hash leaf;
};

#define CHAIN_SYNC 0x1u	 /* it is on disk when this returns */
#define CHAIN_SMALL 0x2u /* tests: segments of 4 KiB */
#define CHAIN_KEEP 0x4u	 /* the file stays open for the next one (kept.h) */

/* Append one event: an object with kind, data and the like; the rest is added to it. `dir` is the
 * chain's; a chain that is not there is begun. */
int chain_append(int dir, struct value *event, unsigned flags, struct chain_place *ret,
		 struct err *e);

#endif
