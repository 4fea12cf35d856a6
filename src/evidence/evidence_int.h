/* SPDX-License-Identifier: Apache-2.0 */
/* One kind of evidence, for the files of evidence/. */
#ifndef EVIDENCE_EVIDENCE_INT_H
#define EVIDENCE_EVIDENCE_INT_H

#include "evidence/evidence.h"

struct evidence_kind {
	const char *name, *path; /* where the kernel has it */
	/* Sets the rest of the object. */
	int (*take)(const char *path, const uint8_t nonce[HASH_BYTES], struct value *to,
		    struct err *e);
	bool (*check)(const struct value *evidence, const uint8_t nonce[HASH_BYTES],
		      struct evidence_claim *ret);
};
extern const struct evidence_kind evidence_tpm, evidence_tsm;

/* Always false. */
__attribute__((format(printf, 2, 3))) bool evidence_bad(struct evidence_claim *to, const char *fmt,
							...);
/* Bytes of a base64 text, at most `most`; 0: it is none. */
size_t evidence_bytes(const struct value *text, void *to, size_t most);

/* tpm_check.c */
bool tpm_check(const struct value *evidence, const uint8_t nonce[HASH_BYTES],
	       struct evidence_claim *ret);
/* tsm.c: one request, made by who has the directory. */
int tsm_ask(int dir, const uint8_t nonce[HASH_BYTES], struct value *to, struct err *e);

/* What a TPM calls things. */
#define TPM_ALG_SHA256 0x000bu
#define TPM_ALG_NULL 0x0010u
#define TPM_ALG_ECDSA 0x0018u
#define TPM_RH_ENDORSEMENT 0x4000000bu
#define TPM_PCRS 16u /* 0 to 15: the later ones can be set back by software */

/* The key: ECDSA on P-256, restricted to what the TPM itself says, made of the endorsement seed. In
 * front of its two coordinates. */
#define TPM_TEMPLATE                                                                               \
	{                                                                                          \
		0x00, 0x23, 0x00, 0x0b,		/* elliptic curve, named by SHA-256 */             \
			0x00, 0x05, 0x04, 0x72, /* fixed, made inside, noDA, restricted, signs */  \
			0x00, 0x00, 0x00, 0x10, /* no policy; encrypts nothing */                  \
			0x00, 0x18, 0x00, 0x0b, 0x00, 0x03, 0x00, 0x10                             \
	}
#define TPM_TEMPLATE_BYTES 20u

#endif
