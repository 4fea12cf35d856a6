/* SPDX-License-Identifier: Apache-2.0 */
/* For the files of ledger/ alone. */
#ifndef LEDGER_CHAIN_INT_H
#define LEDGER_CHAIN_INT_H

#include <stdio.h>

#include "ledger/chain.h"
#include "ledger/note.h"

#define CHAIN_FILE "events"

/* start.c: event 0 and the key; the lock is held and `events` is empty. */
struct chain_start {
	struct value *event; /* to be freed */
	char chain[ID_SIZE];
};
int chain_start(int dir, struct chain_start *ret, struct err *e);
/* The public half where strangers find it. */
int chain_write_key(int dir, const char *chain, const struct public_key *key, struct err *e);
void chain_name(const char *chain, char ret[NOTE_NAME_SIZE]);

/* gap.c: the file that counts what cannot be recorded; one more; what the next event has to say of
 * it, or NULL; it was said. */
void gap_prepare(int dir);
void gap_note(int dir);
struct value *gap_event(int dir, uint64_t *ret_events);
void gap_done(int dir, uint64_t events);

/* settle.c: one settles at a time; -EWOULDBLOCK with LOCK_NB. */
int settle_lock(int dir, int how, struct err *e);
/* What is there, under a checkpoint; the lock is held. */
int settle_checkpoint(int dir, struct err *e);
/* chain.c: `events` gets another name if it ends with event `last`, and the next one begins. */
int chain_split(int dir, uint64_t last, struct err *e);

#endif
