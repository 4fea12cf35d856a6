/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ed25519, by libsodium. Only the notary (src/notary/), which alone holds the private key, is
 * linked with it; all others ask it (notary.h).
 */
#ifndef LEDGER_SIGN_H
#define LEDGER_SIGN_H

#include <stdbool.h>

#include "ledger/note.h"

struct private_key {
	uint8_t seed[KEY_BYTES];
};

int sign_public(const struct private_key *key, struct public_key *ret, struct err *e);
int sign_bytes(const struct private_key *key, const void *data, size_t len, struct signature *ret,
	       struct err *e);
bool sign_check(const struct public_key *key, const void *data, size_t len,
		const struct signature *sig);

#endif
