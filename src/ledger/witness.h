/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A witness: somebody else, with a key of his own, who signs checkpoints of a chain and remembers
 * the last. He signs only one that goes on from it, so a ledger that was exchanged for an older
 * copy, or that tells two stories, gets no signature any more. As C2SP has it: tlog-witness'
 * request, tlog-cosignature's answer.
 *
 *	old 41			what is asked of him: the size that he signed last,
 *	CsUYap…=		the proof that the new tree goes on from it,
 *
 *	pinfold/led3…		and the new checkpoint
 *	…
 *
 *	— NAME BASE64		what he answers: key id, time, signature
 *
 * In his directory: `key`, `name`, and for each chain a file LED… with size, root and public key.
 * On the chain's side: `cosignatures`, notes with his line behind that of the chain.
 */
#ifndef LEDGER_WITNESS_H
#define LEDGER_WITNESS_H

#include "ledger/note.h"

#define COSIGN_NAME_SIZE 64
#define COSIGN_LINE_SIZE 256
#define COSIGN_FILE "cosignatures"
#define COSIGN_ASKED "cosign.asked"
#define WITNESS_REQUEST_BYTES 8192u

struct cosignature {
	char name[COSIGN_NAME_SIZE];
	uint8_t key_id[4];
	uint64_t time_s;
	struct signature sig;
};

/* Pure. What he signs; his key's id and its text; his line, ended by a line feed, and back. */
size_t cosign_message(const struct note *n, uint64_t time_s, char ret[2 * NOTE_SIZE]);
size_t cosign_line(const struct cosignature *c, char ret[COSIGN_LINE_SIZE]);
bool cosign_parse(const char *line, size_t len, struct cosignature *ret);
/* "NAME+ID+BASE64" of a witness. */
int cosign_parse_key(const char *text, size_t len, char ret_name[COSIGN_NAME_SIZE],
		     struct public_key *ret, struct err *e);

/* The chain's side. The request for the newest checkpoint; old UINT64_MAX: the size that was
 * cosigned last. Returns its length. */
int witness_ask(int dir, uint64_t old, char ret[WITNESS_REQUEST_BYTES], struct err *e);
/* Keep his answer to what was asked last. */
int witness_take(int dir, const char *line, size_t len, struct err *e);
/* The newest that this witness has signed: 1, or 0. */
int witness_last(int dir, const char *name, const struct public_key *key, struct note *ret,
		 struct cosignature *ret_sig, struct err *e);

/* His side: make a key where there is none; answer. `key` is the chain's, needed the first time and
 * after it was handed over. */
int witness_open(int dir, const char *name, char ret_verifier[KEY_VERIFIER_SIZE], struct err *e);
int witness_answer(int dir, const char *request, size_t len, const struct public_key *key,
		   char ret[COSIGN_LINE_SIZE], struct err *e);

#endif
