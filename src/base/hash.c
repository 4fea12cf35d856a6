/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 by OpenSSL's one-purpose functions: they are linked statically, and the EVP interface
 * would bring every provider with it into a program that must start in a fraction of a
 * millisecond.
 */
#define OPENSSL_API_COMPAT 0x10100000L
#include "base/hash.h"

#include <errno.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <unistd.h>

_Static_assert(sizeof(SHA256_CTX) <= sizeof(struct hash), "OpenSSL's state must fit into ours");
_Static_assert(_Alignof(SHA256_CTX) <= _Alignof(struct hash), "and lie as it wants to");

void hash_init(struct hash *h)
{
	SHA256_Init((SHA256_CTX *)(void *)h);
}

void hash_add(struct hash *h, const void *data, size_t len)
{
	SHA256_Update((SHA256_CTX *)(void *)h, data, len);
}

void hash_done(struct hash *h, uint8_t ret[HASH_BYTES])
{
	SHA256_Final(ret, (SHA256_CTX *)(void *)h);
}

void hash_bytes(const void *data, size_t len, uint8_t ret[HASH_BYTES])
{
	struct hash h;

	hash_init(&h);
	hash_add(&h, data, len);
	hash_done(&h, ret);
}

void hash_text(const uint8_t digest[HASH_BYTES], char ret[HASH_TEXT_SIZE])
{
	static const char digits[] = "0123456789abcdef";

	for (int i = 0; i < HASH_BYTES; i++) {
		ret[2 * i] = digits[digest[i] >> 4];
		ret[2 * i + 1] = digits[digest[i] & 15];
	}
	ret[2 * HASH_BYTES] = '\0';
}

void hash_sha1(const void *data, size_t len, uint8_t ret[HASH_SHA1_BYTES])
{
	SHA_CTX ctx;

	SHA1_Init(&ctx);
	SHA1_Update(&ctx, data, len);
	SHA1_Final(ret, &ctx);
}

int hash_fd(int fd, uint64_t max, char ret[HASH_TEXT_SIZE])
{
	uint8_t buf[32768], digest[HASH_BYTES];
	uint64_t total = 0;
	struct hash h;

	hash_init(&h);
	for (;;) {
		ssize_t n = pread(fd, buf, sizeof(buf), (off_t)total);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		total += (uint64_t)n;
		if (total > max)
			return -EFBIG;
		hash_add(&h, buf, (size_t)n);
	}
	hash_done(&h, digest);
	hash_text(digest, ret);
	return 0;
}
