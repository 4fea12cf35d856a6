/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints as signed notes (C2SP signed-note and tlog-checkpoint): a text of three lines, an
 * empty line, and a line with the signature. Pure; who signs is sign.h.
 *
 *	pinfold/led3…                 the chain
 *	42                            how many events
 *	CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=     root of their tree
 *
 *	— pinfold/led3… Az3grlgt…     four bytes that name the key, and the signature
 */
#ifndef LEDGER_NOTE_H
#define LEDGER_NOTE_H

#include <stddef.h>

#include "base/err.h"
#include "ledger/tree.h"

#define NOTE_NAME_SIZE 48 /* "pinfold/" and the chain's id */
#define NOTE_SIZE 512
#define KEY_BYTES 32
#define SIGNATURE_BYTES 64
#define KEY_VERIFIER_SIZE 128
#define KEY_PEM_SIZE 160

/* Of C2SP's formats of keys: what an Ed25519 key is for. */
enum key_kind { KEY_SIGNS = 1, KEY_COSIGNS = 4 };

struct public_key {
	uint8_t byte[KEY_BYTES];
};

struct signature {
	uint8_t byte[SIGNATURE_BYTES];
};

struct checkpoint {
	char name[NOTE_NAME_SIZE];
	struct tree_head head;
};

/* What is signed: the three lines. Returns its length. */
size_t note_body(const struct checkpoint *c, char ret[NOTE_SIZE]);
/* The whole, ended by an empty line so that many can stand in one file. */
size_t note_write(const struct checkpoint *c, const struct public_key *key,
		  const struct signature *sig, char ret[NOTE_SIZE]);

struct note {
	struct checkpoint point;
	char body[NOTE_SIZE];
	size_t body_len;
	uint8_t key_id[4];
	struct signature sig;
};

/* One that was parsed, as it was written. */
size_t note_again(const struct note *n, char ret[NOTE_SIZE]);
/* One note at the beginning of a text; *ret_used bytes of it. Nothing but what note_write() makes
 * is taken: what reads two ways is no proof. */
int note_parse(const char *text, size_t len, struct note *ret, size_t *ret_used, struct err *e);

/* The first four bytes of a hash of name and key. */
void note_key_id(enum key_kind kind, const char *name, const struct public_key *key,
		 uint8_t ret[4]);
/* "NAME+ID+BASE64", as tools for signed notes take it; and for all others, PEM. */
void note_verifier(enum key_kind kind, const char *name, const struct public_key *key,
		   char ret[KEY_VERIFIER_SIZE]);
void note_pem(const struct public_key *key, char ret[KEY_PEM_SIZE]);
/* Either form, or the 44 letters of base64. */
int note_parse_key(const char *text, size_t len, struct public_key *ret, struct err *e);

/* Base64 of exactly `n` bytes, in the one way it can be written. False: it is not. */
bool note_bytes(const char *text, size_t len, void *ret, size_t n);
/* malloc-free: room for 4 * (n + 2) / 3 + 1. Returns its length. */
size_t note_base64(const void *data, size_t n, char *ret);
bool note_hex(const char *text, struct tree_hash *ret); /* 64 lower-case digits */

#endif
