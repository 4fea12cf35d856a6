/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The notary: a program of its own that alone holds the private key, for as long as somebody needs
 * a signature. It is executed from bytes of ours, gets one socket and the ledger's directory, and
 * answers one message at a time.
 *
 * struct notary_ask with `len` bytes, in packets of at most NOTARY_PACKET bytes of them, the first
 * with the head; then struct notary_answer.
 */
#ifndef LEDGER_NOTARY_H
#define LEDGER_NOTARY_H

#include <stdbool.h>
#include <sys/types.h>

#include "ledger/note.h"

#define NOTARY_BYTES_MAX (700u << 10) /* a receipt with a few thousand packages */
#define NOTARY_PACKET (64u << 10)
#define NOTARY_DIR_FD 3 /* in the notary */

enum notary_op {
	NOTARY_MAKE = 1, /* a new key, beside that which may be there: not yet the one that signs */
	NOTARY_TAKE,	 /* it is the one now */
	NOTARY_SIGN,
	NOTARY_CHECK,	   /* needs no directory */
	NOTARY_CHECK_P256, /* the same with the key of a machine, the first 64 bytes of the data */
};

struct notary_ask {
	uint32_t op, len;
	struct public_key key;
	struct signature sig;
};

struct notary_answer {
	int32_t result; /* 0, or -errno */
	struct public_key key;
	struct signature sig;
};

struct notary {
	pid_t pid; /* 0: not started */
	int fd;
};
#define NOTARY_INIT                                                                                \
	{                                                                                          \
		.fd = FD_NONE                                                                      \
	}

/* dir: the ledger's, or FD_NONE where only signatures are checked. */
int notary_start(struct notary *n, int dir, struct err *e);
void notary_end(struct notary *n);
#define auto_notary __attribute__((cleanup(notary_end))) struct notary

int notary_make(struct notary *n, struct public_key *ret, struct err *e);
int notary_take(struct notary *n, struct err *e);
/* *ret_key is the key that signed. */
int notary_sign(struct notary *n, const void *data, size_t len, struct signature *ret,
		struct public_key *ret_key, struct err *e);
/* 1: it is his signature; 0: it is not; negative: nobody knows. */
int notary_check(struct notary *n, const struct public_key *key, const void *data, size_t len,
		 const struct signature *sig, struct err *e);
/* The same for a machine's key (p256.h). */
int notary_check_p256(struct notary *n, const uint8_t key[64], const void *data, size_t len,
		      const uint8_t sig[64], struct err *e);

#endif
