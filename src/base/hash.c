/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 by OpenSSL's one-purpose functions: they are linked statically, and the EVP interface
 * would bring every provider with it into a program that must start in a fraction of a
 * millisecond.
 */
#define OPENSSL_API_COMPAT 0x10100000L
#include "base/hash.h"

#include <assert.h>
#include <errno.h>
#include <openssl/sha.h>
#include <unistd.h>

static_assert(sizeof(SHA256_CTX) <= sizeof(struct hash), "the library's own must fit");
static_assert(HASH_SIZE == SHA256_DIGEST_LENGTH, "SHA-256 has 32 bytes");

void hash_init(struct hash *h)
{
	SHA256_Init((SHA256_CTX *)h);
}

void hash_add(struct hash *h, const void *data, size_t len)
{
	SHA256_Update((SHA256_CTX *)h, data, len);
}

void hash_end(struct hash *h, uint8_t ret[HASH_SIZE])
{
	SHA256_Final(ret, (SHA256_CTX *)h);
}

void hash_bytes(const void *data, size_t len, uint8_t ret[HASH_SIZE])
{
	struct hash h;

	hash_init(&h);
	hash_add(&h, data, len);
	hash_end(&h, ret);
}

void hash_text(const uint8_t hash[HASH_SIZE], char ret[HASH_TEXT_SIZE])
{
	static const char digits[] = "0123456789abcdef";

	for (int i = 0; i < HASH_SIZE; i++) {
		ret[2 * i] = digits[hash[i] >> 4];
		ret[2 * i + 1] = digits[hash[i] & 15];
	}
	ret[2 * HASH_SIZE] = 0;
}

int hash_fd(int fd, uint64_t max, char ret[HASH_TEXT_SIZE])
{
	unsigned char buf[32768], digest[HASH_SIZE];
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
	hash_end(&h, digest);
	hash_text(digest, ret);
	return 0;
}
