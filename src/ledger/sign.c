/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/sign.h"

#include <openssl/evp.h>

static EVP_PKEY *load(const struct private_key *key, struct err *e)
{
	EVP_PKEY *pkey = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, key->seed, KEY_BYTES);

	if (!pkey)
		(void)err_set(e, ERR_INTERNAL, "the key of the ledger cannot be used");
	return pkey;
}

int sign_public(const struct private_key *key, struct public_key *ret, struct err *e)
{
	EVP_PKEY *pkey = load(key, e);
	size_t len = KEY_BYTES;

	if (!pkey)
		return -EIO;
	int good = EVP_PKEY_get_raw_public_key(pkey, ret->byte, &len);
	EVP_PKEY_free(pkey);
	return good == 1 && len == KEY_BYTES ? 0 : err_set(e, ERR_INTERNAL, "no public key");
}

int sign_bytes(const struct private_key *key, const void *data, size_t len, struct signature *ret,
	       struct err *e)
{
	EVP_PKEY *pkey = load(key, e);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	size_t n = SIGNATURE_BYTES;
	int good = pkey && ctx && EVP_DigestSignInit(ctx, NULL, NULL, NULL, pkey) == 1 &&
		   EVP_DigestSign(ctx, ret->byte, &n, data, len) == 1 && n == SIGNATURE_BYTES;

	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(pkey);
	return good ? 0 : err_set(e, ERR_INTERNAL, "the ledger's key does not sign");
}

bool sign_check(const struct public_key *key, const void *data, size_t len,
		const struct signature *sig)
{
	EVP_PKEY *pkey = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key->byte, KEY_BYTES);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool good = pkey && ctx && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, pkey) == 1 &&
		    EVP_DigestVerify(ctx, sig->byte, SIGNATURE_BYTES, data, len) == 1;

	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(pkey);
	return good;
}
