/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/jks.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/value.h"

#define MAGIC 0xfeedfeedu
#define VERSION 2u
#define AUTHORITY 2u
#define HEAD_BYTES 12u
#define STORE_BYTES_MAX (8u << 20)
#define PEM_BYTES_MAX 65536u

static const char name[] = "pinfold", kind[] = "X.509";
static const unsigned char secret[] = "\0c\0h\0a\0n\0g\0e\0i\0tMighty Aphrodite";
#define SECRET_BYTES (sizeof(secret) - 1)

static uint32_t number_at(const unsigned char *at)
{
	uint32_t n;

	memcpy(&n, at, sizeof(n));
	return be32toh(n);
}

static unsigned char *put32(unsigned char *at, uint32_t n)
{
	n = htobe32(n);
	memcpy(at, &n, sizeof(n));
	return at + sizeof(n);
}

static unsigned char *put(unsigned char *at, const void *data, size_t len)
{
	memcpy(at, data, len);
	return at + len;
}

/* Two bytes of length, then the letters. */
static unsigned char *put_text(unsigned char *at, const char *text, size_t len)
{
	*at++ = (unsigned char)(len >> 8);
	*at++ = (unsigned char)len;
	return put(at, text, len);
}

/* The bytes between the first two lines of dashes. */
static int der_of(const char *pem, void **ret, size_t *ret_len)
{
	static const char begin[] = "-----BEGIN CERTIFICATE-----", end[] = "-----END";
	const char *from = strstr(pem, begin), *to = from ? strstr(from, end) : NULL;
	size_t n = 0;

	if (!to || (size_t)(to - from) > PEM_BYTES_MAX)
		return -EINVAL;
	auto_free char *letters = malloc((size_t)(to - from));
	if (!letters)
		return -ENOMEM;
	for (from += sizeof(begin) - 1; from < to; from++)
		if (*from != '\n' && *from != '\r')
			letters[n++] = *from;
	return n == 0 || value_from_base64(letters, n, ret, ret_len) < 0 ? -EINVAL : 0;
}

int jks_with(const void *store, size_t len, const char *pem, void **ret, size_t *ret_len)
{
	const unsigned char *old = store;
	auto_free void *der = NULL;
	size_t der_len = 0;

	assert(store && pem && ret && ret_len);
	if (len < HEAD_BYTES + HASH_SHA1_BYTES || len > STORE_BYTES_MAX ||
	    number_at(old) != MAGIC || number_at(old + 4) != VERSION)
		return -EINVAL;
	int r = der_of(pem, &der, &der_len);
	if (r < 0)
		return r;
	size_t kept = len - HEAD_BYTES - HASH_SHA1_BYTES;
	size_t entry = 4 + 2 + sizeof(name) - 1 + 8 + 2 + sizeof(kind) - 1 + 4 + der_len;
	size_t all = HEAD_BYTES + kept + entry;
	/* The password goes in front for the sum, and is not handed out. */
	auto_free unsigned char *sum = malloc(SECRET_BYTES + all);
	auto_free unsigned char *made = malloc(all + HASH_SHA1_BYTES);
	if (!sum || !made)
		return -ENOMEM;
	unsigned char *at = put(put32(made, MAGIC), old + 4, 4);
	at = put(put32(at, number_at(old + 8) + 1), old + HEAD_BYTES, kept);
	at = put_text(put32(at, AUTHORITY), name, sizeof(name) - 1);
	at = put32(put32(at, 0), 0); /* made at no time: the certificate says */
	at = put_text(at, kind, sizeof(kind) - 1);
	at = put(put32(at, (uint32_t)der_len), der, der_len);
	assert(at == made + all);
	(void)put(put(sum, secret, SECRET_BYTES), made, all);
	hash_sha1(sum, SECRET_BYTES + all, at);
	*ret_len = all + HASH_SHA1_BYTES;
	*ret = take_ptr(&made);
	return 0;
}
