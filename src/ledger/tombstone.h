/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands for events that were removed: a checkpoint of them with more lines, as
 * tlog-checkpoint allows, in the file `tombstone`; signed by the key that the chain has when it is
 * written.
 *
 *	pinfold/led3…
 *	41923			how many are gone: events 0 to 41922
 *	CsUYap…=		root of their tree
 *	last 8dKe…=		hash of the last of them, which the first that is left follows
 *	edge 1fOa…=		whole subtrees, smallest first: from here the tree goes on
 *	key 3Jca…= -		the keys that signed them: the first,
 *	key 9sLx…= Qx0b…=	and those that it was handed to, signed by the one before
 *
 *	— pinfold/led3… Az3grlgt…
 *
 * An event `ledger.prune` in the chain has its hash: it cannot be put there in silence.
 */
#ifndef LEDGER_TOMBSTONE_H
#define LEDGER_TOMBSTONE_H

#include "ledger/note.h"
#include "ledger/tree.h"

#define TOMBSTONE_FILE "tombstone"
#define TOMBSTONE_KEYS 256u
#define TOMBSTONE_BYTES (64u << 10)

struct tombstone_key {
	struct public_key key;
	struct signature sig; /* of the first: nothing */
};

struct tombstone {
	struct checkpoint point;
	struct tree_edge edge;
	struct tree_hash last;
	unsigned n_keys;
	struct tombstone_key keys[TOMBSTONE_KEYS];
	/* As it was read or signed. */
	char body[TOMBSTONE_BYTES];
	size_t body_len;
	uint8_t key_id[4];
	struct signature sig;
};

/* Pure. The body, from what it says; and back, with its signature. Nothing but what was written is
 * taken. */
void tombstone_body(struct tombstone *t);
int tombstone_parse(const char *text, size_t len, struct tombstone *t, struct err *e);

/* 1: there is one, malloced; 0: there is none. Whose signature it is, is not checked. */
int tombstone_read(int dir, struct tombstone **ret, struct err *e);
/* Signed, under another name; and then in its place. */
int tombstone_write(int dir, const struct tombstone *t, struct err *e);
int tombstone_take(int dir, struct err *e);
/* How many events are gone, as the file says. */
uint64_t tombstone_size(int dir);

#endif
