/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evidence: what the machine's root of trust signs over a nonce. One object:
 *
 *	{"kind": "none"}				there is no such device, or nobody asked
 *	{"kind": "none", "why": "…"}			there is one, and it did not answer
 *	{"kind": "tpm2", "key", "quote", "signature": base64 of TPMT_PUBLIC, TPMS_ATTEST, TPMT_SIGNATURE,
 *	 "pcrs": {"0": "<64 digits>", …}}		the sha256 bank
 *	{"kind": "tsm", "provider": "sev_guest", "report": base64, "certificates": base64}
 *
 * A quote says: the machine of this key, booted as these registers have it, was asked for this
 * nonce. It does not say who asked: whoever may open the device can. The key is made of the
 * device's own seed each time, so nothing is kept there, and it has one name for as long as the
 * device is not cleared.
 */
#ifndef EVIDENCE_EVIDENCE_H
#define EVIDENCE_EVIDENCE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/value.h"

#define EVIDENCE_NAME_SIZE 72

/* how: "auto" (what there is, else none), "none", "tpm2", "tsm", or one of these and ":PATH", which
 * then has to answer. *ret is to be freed. */
int evidence_take(const char *how, const uint8_t nonce[HASH_BYTES], struct value **ret,
		  struct err *e);

/* What evidence says, once its form is right and it is about the nonce. */
struct evidence_claim {
	char kind[16];
	char name[EVIDENCE_NAME_SIZE]; /* of the key, as TPM tools print it; "" for other kinds */
	bool has_signature;	       /* by ECDSA on P-256 over SHA-256 of `text`: to be checked */
	uint8_t key[64], signature[64];
	uint8_t text[512];
	size_t len;
	char why[128]; /* it is not right: what */
};
/* evidence: of a receipt, may be NULL. False: see why. */
bool evidence_check(const struct value *evidence, const uint8_t nonce[HASH_BYTES],
		    struct evidence_claim *ret);

#endif
