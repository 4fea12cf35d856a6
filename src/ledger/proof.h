/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One event with what proves that it is in its chain, as a text of C2SP's form `tlog-proof`; the
 * event itself is its extra data. Who has it and the public key needs nothing else.
 *
 *	c2sp.org/tlog-proof@v1
 *	extra BASE64 of the event's line
 *	index 12
 *	BASE64 of a hash, a line each
 *
 *	the checkpoint, as in note.h
 */
#ifndef LEDGER_PROOF_H
#define LEDGER_PROOF_H

#include "base/id.h"
#include "ledger/note.h"

#define PROOF_BEGIN "c2sp.org/tlog-proof@v1\n"

/* Of event `at`, malloced; it is signed first if it is not. */
int proof_make(int dir, uint64_t at, char **ret, size_t *ret_len, struct err *e);

struct proof_result {
	bool good;
	char chain[ID_SIZE];
	uint64_t at;
	char *event;	/* its line, malloced, good or not; NULL: there is none */
	char what[160]; /* not good: which part, and why */
};

/* Against this key. 0: it was looked at, whatever was found. */
int proof_check(const char *text, size_t len, const struct public_key *key,
		struct proof_result *ret, struct err *e);

#endif
