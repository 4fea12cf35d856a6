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

#endif
