/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The authority of one sandbox: with it the gate shows a certificate for the host that a program
 * inside connects to, so that it can read what is asked for. Its key is made in the gate, never
 * leaves it and is gone with the sandbox; nobody but that sandbox trusts it; it ends after a day
 * whatever happens.
 *
 * No I/O. Certificates for hosts have one key for all, and are kept, AUTHORITY_KEPT of them.
 */
#ifndef EGRESS_AUTHORITY_H
#define EGRESS_AUTHORITY_H

#include <stddef.h>

#include "base/err.h"
#include "egress/name.h"

#define AUTHORITY_KEPT 64u
#define AUTHORITY_PEM_MAX 1000u
#define AUTHORITY_SECONDS (24 * 3600)

struct authority;
struct x509_st;	    /* X509 */
struct evp_pkey_st; /* EVP_PKEY */

/* `sandbox` is part of its name, for people. */
int authority_new(const char *sandbox, struct authority **ret, struct err *e);
void authority_free(struct authority *a);

/* Its certificate, for the sandbox to trust; with NUL, shorter than AUTHORITY_PEM_MAX. */
const char *authority_pem(const struct authority *a);

/* The certificate of a host and its key; both are the authority's and stay good until the next
 * call. */
int authority_leaf(struct authority *a, const struct name *host, struct x509_st **ret_cert,
		   struct evp_pkey_st **ret_key, struct err *e);

#endif
