/* SPDX-License-Identifier: Apache-2.0 */
/* ECDSA on P-256, by nettle: small, where OpenSSL would make the notary six times as large. */
#include "ledger/p256.h"

#include <gmp.h>
#include <nettle/dsa.h>
#include <nettle/ecc-curve.h>
#include <nettle/ecc.h>
#include <nettle/ecdsa.h>
#include <nettle/sha2.h>

#define HALF 32u

static void take(mpz_t to, const uint8_t *from)
{
	mpz_import(to, HALF, 1, 1, 1, 0, from);
}

bool p256_check(const uint8_t key[P256_BYTES], const void *data, size_t len,
		const uint8_t sig[P256_BYTES])
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct dsa_signature parts;
	struct sha256_ctx hash;
	struct ecc_point point;
	mpz_t x, y;

	sha256_init(&hash);
	sha256_update(&hash, len, data);
	sha256_digest(&hash, sizeof(digest), digest);
	ecc_point_init(&point, nettle_get_secp_256r1());
	dsa_signature_init(&parts);
	mpz_inits(x, y, NULL);
	take(x, key);
	take(y, key + HALF);
	take(parts.r, sig);
	take(parts.s, sig + HALF);
	/* A point that is not on the curve is none. */
	bool good =
		ecc_point_set(&point, x, y) && ecdsa_verify(&point, sizeof(digest), digest, &parts);
	mpz_clears(x, y, NULL);
	dsa_signature_clear(&parts);
	ecc_point_clear(&point);
	return good;
}
