/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificates of authorities, each parsed when a chain asks for it. A host has some 140 of them,
 * and to parse all takes OpenSSL 40 ms, which nobody should wait for who wants one. What is kept is
 * their bytes and a hash of their subjects; whether one fits is OpenSSL's to say.
 */
#ifndef EGRESS_ROOTS_H
#define EGRESS_ROOTS_H

#include <stdbool.h>
#include <stddef.h>

struct roots;
struct x509_store_st; /* X509_STORE */

/* From PEM text: certificates one behind the other. NULL: there is none in it, or no memory. */
struct roots *roots_new(const char *pem, size_t len);
/* After the stores that use it. */
void roots_free(struct roots *r);
/* The store finds them from now on. */
bool roots_add_to(struct roots *r, struct x509_store_st *store);
/* How many were parsed so far; of how many. */
unsigned roots_parsed(const struct roots *r, unsigned *ret_all);

#endif
