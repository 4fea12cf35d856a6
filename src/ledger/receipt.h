/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A receipt: what the ledger says of one run, as an in-toto Statement in a DSSE envelope, signed by
 * the ledger's key. With the event itself, its proof of inclusion and the checkpoint, so that it
 * can be checked without us.
 *
 *	{"payload": BASE64 of the statement, "payloadType": "application/vnd.in-toto+json",
 *	 "signatures": [{"keyid": "pinfold/led…+1a2b3c4d", "sig": BASE64}]}
 *
 * The file is canonical JSON and the statement, too: there is no bit in it that could be another.
 */
#ifndef LEDGER_RECEIPT_H
#define LEDGER_RECEIPT_H

#include "base/value.h"
#include "evidence/evidence.h"
#include "ledger/find.h"
#include "ledger/note.h"

#define RECEIPT_TYPE "application/vnd.in-toto+json"
#define RECEIPT_PREDICATE "urn:pinfold:receipt:v1"

/* Malloced text. The events of the run must be in the chain; they are signed first if they are
 * not. */
struct receipt_ask {
	const char *run;
	/* As evidence_take() has it. What it is about: SHA-256 of the statement without it,
	 * canonical. */
	const char *evidence;
	const char *snapshot;	     /* digest of the one after the run; NULL: there is none */
	const char *why_no_snapshot; /* NULL: it made none */
};
int receipt_make(int dir, const struct receipt_ask *ask, char **ret, size_t *ret_len,
		 struct err *e);

struct receipt_result {
	bool good;
	char run[ID_SIZE], chain[ID_SIZE];
	uint64_t at;
	/* Of what machine it is. evidence_signed: by that key, and checked here. */
	char evidence[16], evidence_key[EVIDENCE_NAME_SIZE];
	bool evidence_signed;
	char what[256]; /* not good: which part, and why */
};

/* Against this key. 0: it was looked at, whatever was found. */
int receipt_check(const char *text, size_t len, const struct public_key *key,
		  struct receipt_result *ret, struct err *e);

/* receipt_statement.c: the statement of a run, to be freed. */
struct value *receipt_statement(const struct find_run *f, const struct receipt_ask *ask,
				struct value *ledger);

#endif
