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

int hash_fd(int fd, uint64_t max, char ret[HASH_TEXT_SIZE])
{
	unsigned char buf[32768], digest[SHA256_DIGEST_LENGTH];
	uint64_t total = 0;
	SHA256_CTX ctx;

	SHA256_Init(&ctx);
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
		SHA256_Update(&ctx, buf, (size_t)n);
	}
	SHA256_Final(digest, &ctx);
	for (int i = 0; i < SHA256_DIGEST_LENGTH; i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", digest[i]);
	return 0;
}
