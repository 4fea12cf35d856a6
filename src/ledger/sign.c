/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/sign.h"

#include <assert.h>
#include <sodium/core.h>
#include <sodium/crypto_sign.h>
#include <sodium/utils.h>

static_assert(crypto_sign_SEEDBYTES == KEY_BYTES, "a key is its seed");
static_assert(crypto_sign_PUBLICKEYBYTES == KEY_BYTES, "");
static_assert(crypto_sign_BYTES == SIGNATURE_BYTES, "");

struct pair {
	uint8_t both[crypto_sign_SECRETKEYBYTES];
	struct public_key public;
};

static void forget(struct pair *p)
{
	sodium_memzero(p, sizeof(*p));
}
#define auto_pair __attribute__((cleanup(forget))) struct pair

static int unfold(const struct private_key *key, struct pair *ret, struct err *e)
{
	if (sodium_init() < 0 ||
	    crypto_sign_seed_keypair(ret->public.byte, ret->both, key->seed) < 0)
		return err_set(e, ERR_INTERNAL, "the key of the ledger cannot be used");
	return 0;
}

int sign_public(const struct private_key *key, struct public_key *ret, struct err *e)
{
	auto_pair p;
	int r = unfold(key, &p, e);

	if (r >= 0)
		*ret = p.public;
	return r;
}

int sign_bytes(const struct private_key *key, const void *data, size_t len, struct signature *ret,
	       struct err *e)
{
	auto_pair p;
	int r = unfold(key, &p, e);

	if (r >= 0 && crypto_sign_detached(ret->byte, NULL, data, len, p.both) < 0)
		r = err_set(e, ERR_INTERNAL, "the ledger's key does not sign");
	return r;
}

bool sign_check(const struct public_key *key, const void *data, size_t len,
		const struct signature *sig)
{
	return sodium_init() >= 0 &&
	       crypto_sign_verify_detached(sig->byte, data, len, key->byte) == 0;
}
