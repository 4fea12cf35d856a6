/* SPDX-License-Identifier: Apache-2.0 */
/* Public keys as texts: several of somebody's, and those that a chain has had. */
#ifndef ENGINE_LEDGER_KEYS_H
#define ENGINE_LEDGER_KEYS_H

#include "ledger/note.h"

#define LEDGER_KEYS_MAX 512u

struct ledger_keys {
	unsigned n;
	struct public_key key[LEDGER_KEYS_MAX];
};

/* One behind the other, as `pinfold audit key` prints them: PEM, or a line each. At least one. */
int ledger_keys_parse(const char *text, struct ledger_keys *ret, struct err *e);
/* Those that the chain says are its own, added to the others; the one that signs now comes last.
 * Nothing of that is proved. */
void ledger_keys_of(int dir, struct ledger_keys *to);
/* The chain's id, as its key has it. */
bool ledger_chain_id(int dir, char ret[256]);

#endif
