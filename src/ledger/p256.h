/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures of machines (evidence/): ECDSA on P-256 over SHA-256. Linked into the notary alone, as
 * sign.h is. */
#ifndef LEDGER_P256_H
#define LEDGER_P256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define P256_BYTES 64 /* x and y; r and s */

bool p256_check(const uint8_t key[P256_BYTES], const void *data, size_t len,
		const uint8_t sig[P256_BYTES]);

#endif
