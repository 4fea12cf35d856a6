/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A quote that somebody shows: its form, to the last byte; that the nonce is in it; that its
 * registers are those that stand beside it; that its key is one that signs nothing but what its TPM
 * says, and the one that the quote names.
 *
 *	TPMS_ATTEST	magic 4, type 2, qualified name of the key 2+n, nonce 2+n, clock 17, firmware 8,
 *			selections 4 of (bank 2, bytes 1, bits n), digest of the registers 2+n
 *	TPMT_SIGNATURE	ECDSA 2, hash 2, r 2+n, s 2+n
 */
#include <stdio.h>
#include <string.h>

#include "evidence/evidence_int.h"

#define MAGIC 0xff544347u
#define ST_ATTEST_QUOTE 0x8018u
#define NAME_BYTES (2 + HASH_BYTES)
#define PART_MAX 512u

struct cursor {
	const uint8_t *p;
	size_t left;
	bool bad;
};

static uint32_t number(struct cursor *c, unsigned bytes)
{
	uint32_t n = 0;

	if (c->left < bytes) {
		c->bad = true;
		return 0;
	}
	for (unsigned i = 0; i < bytes; i++)
		n = n << 8 | c->p[i];
	c->p += bytes;
	c->left -= bytes;
	return n;
}

/* With its length before it; NULL: not that long. */
static const uint8_t *sized(struct cursor *c, size_t exactly)
{
	const uint8_t *p = c->p + 2;

	if (number(c, 2) != exactly || c->left < exactly) {
		c->bad = true;
		return NULL;
	}
	c->p += exactly;
	c->left -= exactly;
	return p;
}

/* A coordinate or half of a signature: leading zeros may be missing. */
static void padded(struct cursor *c, uint8_t to[32])
{
	uint32_t n = number(c, 2);

	if (n > 32 || n > c->left) {
		c->bad = true;
		return;
	}
	memset(to, 0, 32 - n);
	memcpy(to + 32 - n, c->p, n);
	c->p += n;
	c->left -= n;
}

/* nameAlg and the hash of the public area; and what the quote has of it, below its hierarchy. */
static void names(const uint8_t *public, size_t len, uint8_t name[NAME_BYTES],
		  uint8_t qualified[NAME_BYTES])
{
	static const uint8_t above[4] = {0x40, 0x00, 0x00, 0x0b}; /* TPM_RH_ENDORSEMENT */
	struct hash h;

	name[0] = qualified[0] = 0;
	name[1] = qualified[1] = TPM_ALG_SHA256;
	hash_bytes(public, len, name + 2);
	hash_init(&h);
	hash_add(&h, above, sizeof(above));
	hash_add(&h, name, NAME_BYTES);
	hash_done(&h, qualified + 2);
}

static bool check_key(const struct value *evidence, uint8_t qualified[NAME_BYTES],
		      struct evidence_claim *ret)
{
	static const uint8_t template[TPM_TEMPLATE_BYTES] = TPM_TEMPLATE;
	uint8_t public[PART_MAX], name[NAME_BYTES];
	size_t n = evidence_bytes(value_get(evidence, "key"), public, sizeof(public));
	char text[HASH_TEXT_SIZE];

	if (n < sizeof(template) || memcmp(public, template, sizeof(template)) != 0)
		return evidence_bad(ret, "key: not one that signs only what a TPM says");
	struct cursor c = {public + sizeof(template), n - sizeof(template), false};
	padded(&c, ret->key);
	padded(&c, ret->key + 32);
	if (c.bad || c.left)
		return evidence_bad(ret, "key: no key");
	names(public, n, name, qualified);
	hash_text(name + 2, text);
	(void)snprintf(ret->name, sizeof(ret->name), "%02x%02x%s", name[0], name[1], text);
	return true;
}

static bool parse_hash(const char *text, uint8_t ret[HASH_BYTES])
{
	static const char digits[] = "0123456789abcdef";

	if (!text || strlen(text) != 2 * HASH_BYTES || strspn(text, digits) != 2 * HASH_BYTES)
		return false;
	for (size_t i = 0; i < HASH_BYTES; i++)
		ret[i] = (uint8_t)((strchr(digits, text[2 * i]) - digits) << 4 |
				   (strchr(digits, text[2 * i + 1]) - digits));
	return true;
}

/* Those that are selected, and no other, give the digest. */
static bool check_registers(const struct value *pcrs, uint32_t selected, const uint8_t *digest)
{
	uint8_t value[HASH_BYTES], got[HASH_BYTES];
	struct hash h;
	size_t n = 0;

	hash_init(&h);
	for (unsigned i = 0; i < 32; i++) {
		char name[4];

		if (!(selected & 1u << i))
			continue;
		(void)snprintf(name, sizeof(name), "%u", i);
		if (!parse_hash(value_str(value_get(pcrs, name)), value))
			return false;
		hash_add(&h, value, sizeof(value));
		n++;
	}
	hash_done(&h, got);
	return n == value_len(pcrs) && memcmp(got, digest, HASH_BYTES) == 0;
}

static bool check_quote(const struct value *evidence, const uint8_t nonce[HASH_BYTES],
			const uint8_t qualified[NAME_BYTES], struct evidence_claim *ret)
{
	struct cursor c = {ret->text, ret->len, false};
	uint32_t selected = 0;

	if (number(&c, 4) != MAGIC || number(&c, 2) != ST_ATTEST_QUOTE)
		return evidence_bad(ret, "quote: no quote");
	const uint8_t *signer = sized(&c, NAME_BYTES), *extra = sized(&c, HASH_BYTES);
	for (int i = 0; i < 25; i++)
		(void)number(&c, 1); /* clock and firmware: whatever they are */
	bool one = number(&c, 4) == 1 && number(&c, 2) == TPM_ALG_SHA256;
	uint32_t bytes = number(&c, 1);
	for (uint32_t i = 0; i < bytes && i < 4; i++)
		selected |= number(&c, 1) << (8 * i);
	const uint8_t *digest = sized(&c, HASH_BYTES);
	if (c.bad || c.left || !one || bytes > 4 || !signer || !extra || !digest)
		return evidence_bad(ret, "quote: not of registers of the sha256 bank");
	if (memcmp(extra, nonce, HASH_BYTES) != 0)
		return evidence_bad(ret, "quote: it is about something else");
	if (memcmp(signer, qualified, NAME_BYTES) != 0)
		return evidence_bad(ret, "quote: it names another key");
	if (!check_registers(value_get(evidence, "pcrs"), selected, digest))
		return evidence_bad(ret, "pcrs: the quote has others");
	return true;
}

bool tpm_check(const struct value *evidence, const uint8_t nonce[HASH_BYTES],
	       struct evidence_claim *ret)
{
	uint8_t qualified[NAME_BYTES], sig[PART_MAX];

	if (!check_key(evidence, qualified, ret))
		return false;
	ret->len = evidence_bytes(value_get(evidence, "quote"), ret->text, sizeof(ret->text));
	if (!check_quote(evidence, nonce, qualified, ret))
		return false;
	struct cursor c = {sig, evidence_bytes(value_get(evidence, "signature"), sig, sizeof(sig)),
			   false};
	bool ecdsa = number(&c, 2) == TPM_ALG_ECDSA && number(&c, 2) == TPM_ALG_SHA256;
	padded(&c, ret->signature);
	padded(&c, ret->signature + 32);
	if (!ecdsa || c.bad || c.left)
		return evidence_bad(ret, "signature: not ECDSA with SHA-256");
	ret->has_signature = true;
	return true;
}
