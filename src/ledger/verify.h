/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a chain what was written? Every event is hashed, follows the one before, and is in the tree
 * that the checkpoints sign. Streams: memory does not grow with the chain. Needs no more than the
 * files and a public key; whatever is told of them is told of the first place that does not fit.
 */
#ifndef LEDGER_VERIFY_H
#define LEDGER_VERIFY_H

#include "base/id.h"
#include "ledger/note.h"

struct verify_ask {
	const struct public_key *key; /* one that must have signed it; NULL: that of key.pem */
	const struct note *anchor;    /* a checkpoint that was kept elsewhere; NULL: none */
	const char *anchor_name;      /* where; NULL: "the checkpoint that was kept" */
	/* Hears of each checkpoint of another chain that this one has recorded, the oldest first;
	 * NULL: nobody. All are borrowed. */
	void (*joined)(void *arg, const char *directory, const struct note *n, uint64_t at);
	void *joined_arg;
	/* Who must have cosigned it; NULL: nobody. What he signed last is the anchor then. */
	const char *witness;
	const struct public_key *witness_key;
};

struct verify_result {
	bool good;
	char chain[ID_SIZE];
	uint64_t events, checkpoints;
	uint64_t gone;		/* of these were pruned, and a tombstone stands for them */
	uint64_t signed_events; /* that the last checkpoint covers; the rest is newer */
	uint64_t cuts;		/* torn ends that were found and recorded */
	uint64_t torn;		/* bytes of an event that was not written whole */
	unsigned keys;
	uint64_t witnessed;   /* events that the witness has signed */
	uint64_t witnessed_s; /* when, since 1970 */
	/* Not good: */
	char where[96]; /* file and line */
	uint64_t at;	/* the event */
	char what[256];
};

/* 0: it was looked at, whatever was found. */
int verify_chain(int dir, const struct verify_ask *ask, struct verify_result *ret, struct err *e);

#endif
