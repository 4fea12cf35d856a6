/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A receipt: what the ledger says of one run, as an in-toto Statement in a DSSE envelope, signed by the
 * ledger's key. With the event itself, its proof of inclusion and the checkpoint, so that it can be checked
 * without us.
 *
 *	{"payload": BASE64 of the statement, "payloadType": "application/vnd.in-toto+json",
 *	 "signatures": [{"keyid": "pinfold/led…+1a2b3c4d", "sig": BASE64}]}
 *
 * The file is canonical JSON and the statement, too: there is no bit in it that could be another.
 */
#ifndef LEDGER_RECEIPT_H
#define LEDGER_RECEIPT_H

#include "base/value.h"
#include "ledger/find.h"
#include "ledger/note.h"

#define RECEIPT_TYPE "application/vnd.in-toto+json"
#define RECEIPT_PREDICATE "urn:pinfold:receipt:v1"

/* Malloced text. The events of the run must be in the chain; they are signed first if they are not. */
int receipt_make(int dir, const char *run, char **ret, size_t *ret_len, struct err *e);

struct receipt_result {
	bool good;
	char run[ID_SIZE], chain[ID_SIZE];
	uint64_t at;
	char what[256]; /* not good: which part, and why */
};

/* Against this key. 0: it was looked at, whatever was found. */
int receipt_check(const char *text, size_t len, const struct public_key *key,
		  struct receipt_result *ret, struct err *e);

/* receipt_statement.c: the statement of a run, to be freed. */
struct value *receipt_statement(const struct find_run *f, struct value *ledger);

#endif
