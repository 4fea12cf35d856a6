/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Java's own list of authorities, which reads no variable and no PEM: the host's, with one more.
 *
 *	magic 0xfeedfeed	4
 *	version 2		4
 *	number of entries	4
 *	of each authority	2 (4 bytes), name (2 + n), ms since 1970 (8), "X.509" (2 + 5),
 *				certificate as DER (4 + n)
 *	SHA-1			of the password in UTF-16, a salt that everybody knows, all of the above
 *
 * Numbers are big-endian. The password is the one that everybody uses: what protects a list that
 * all may read is who may write it.
 */
#ifndef EGRESS_JKS_H
#define EGRESS_JKS_H

#include <stddef.h>

/*
 * `store` with the certificate `pem` as one more entry; *ret is the caller's to free. 0; -EINVAL:
 * `store` is none of this kind (Java has another, PKCS #12), or `pem` is no certificate; -ENOMEM.
 */
int jks_with(const void *store, size_t len, const char *pem, void **ret, size_t *ret_len);

#endif
