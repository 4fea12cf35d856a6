/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/roots.h"

#include <assert.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ROOTS_MAX 1024u
#define DEPTH_MAX 8

enum { DER_OID = 0x06, DER_SEQUENCE = 0x30, DER_SET = 0x31, DER_VERSION = 0xa0 };

struct roots {
	X509_LOOKUP_METHOD *method;
	unsigned n, n_parsed;
	struct root {
		unsigned char *der; /* OPENSSL_malloc; NULL once it is in a store */
		long len;
		uint32_t hash; /* of its subject */
	} list[ROOTS_MAX];
};

/* DER: one value, with its bounds. False: there is none, or it leads out of them. */

struct der {
	const unsigned char *at, *end;
};

static bool der_next(struct der *d, unsigned *ret_tag, struct der *ret)
{
	size_t left = (size_t)(d->end - d->at), len, n = 0;

	if (left < 2)
		return false;
	*ret_tag = d->at[0];
	len = d->at[1];
	if (len & 0x80) {
		n = len & 0x7f;
		if (n == 0 || n > 3 || left < 2 + n)
			return false;
		len = 0;
		for (size_t i = 0; i < n; i++)
			len = len << 8 | d->at[2 + i];
	}
	if (left - 2 - n < len)
		return false;
	ret->at = d->at + 2 + n;
	ret->end = ret->at + len;
	d->at = ret->end;
	return true;
}

static uint32_t mix(uint32_t h, unsigned char c)
{
	return (h ^ c) * 16777619u;
}

/* Names that OpenSSL takes for equal have the same: kinds of strings, case and blanks do not
 * count. */
static uint32_t hash_name(uint32_t h, struct der d, int depth)
{
	struct der in;
	unsigned tag;

	while (depth < DEPTH_MAX && der_next(&d, &tag, &in)) {
		if (tag == DER_SEQUENCE || tag == DER_SET) {
			h = hash_name(h, in, depth + 1);
			continue;
		}
		for (; in.at < in.end; in.at++) {
			unsigned char c = *in.at;

			if (tag == DER_OID)
				h = mix(h, c);
			else if (c > ' ') /* also: the high bytes of wide characters */
				h = mix(h, c >= 'A' && c <= 'Z' ? c + 32 : c);
		}
	}
	return h;
}

/* Certificate: SEQUENCE { SEQUENCE { [version], serial, algorithm, issuer, validity, subject, … */
static bool hash_subject(const unsigned char *der, size_t len, uint32_t *ret)
{
	struct der all = {der, der + len}, whole, d, part;
	unsigned tag;

	if (!der_next(&all, &tag, &whole) || tag != DER_SEQUENCE || !der_next(&whole, &tag, &d) ||
	    tag != DER_SEQUENCE || !der_next(&d, &tag, &part))
		return false;
	if (tag == DER_VERSION && !der_next(&d, &tag, &part))
		return false;
	for (int i = 0; i < 4; i++)
		if (!der_next(&d, &tag, &part))
			return false;
	*ret = hash_name(2166136261u, part, 0);
	return tag == DER_SEQUENCE;
}

struct roots *roots_new(const char *pem, size_t len)
{
	struct roots *r = calloc(1, sizeof(*r));
	BIO *in = r ? BIO_new_mem_buf(pem, (int)len) : NULL;
	char *name = NULL, *head = NULL;
	struct root one = {0};

	assert(pem && len < (16u << 20));
	while (in && r->n < ROOTS_MAX && PEM_read_bio(in, &name, &head, &one.der, &one.len) == 1) {
		bool good = strcmp(name, PEM_STRING_X509) == 0 &&
			    hash_subject(one.der, (size_t)one.len, &one.hash);

		OPENSSL_free(name);
		OPENSSL_free(head);
		if (good)
			r->list[r->n++] = one;
		else
			OPENSSL_free(one.der);
	}
	BIO_free(in);
	ERR_clear_error();
	if (r && r->n == 0) {
		roots_free(r);
		return NULL;
	}
	return r;
}

void roots_free(struct roots *r)
{
	if (!r)
		return;
	for (unsigned i = 0; i < r->n; i++)
		OPENSSL_free(r->list[i].der);
	X509_LOOKUP_meth_free(r->method);
	free(r);
}

static void parse(struct roots *r, struct root *one, X509_STORE *store)
{
	const unsigned char *at = one->der;
	X509 *x = d2i_X509(NULL, &at, one->len);

	if (x && X509_STORE_add_cert(store, x) == 1)
		r->n_parsed++;
	X509_free(x);
	ERR_clear_error(); /* one that is broken is none */
	OPENSSL_free(one->der);
	one->der = NULL;
}

/* OpenSSL looks for a name that is not in the store: all that may have it are put there. */
static int find(X509_LOOKUP *lookup, X509_LOOKUP_TYPE type, const X509_NAME *name, X509_OBJECT *ret)
{
	struct roots *r = X509_LOOKUP_get_method_data(lookup);
	X509_STORE *store = X509_LOOKUP_get_store(lookup);
	const unsigned char *der = NULL;
	size_t len = 0;

	if (type != X509_LU_X509 || X509_NAME_get0_der(name, &der, &len) != 1)
		return 0;
	struct der d = {der, der + len}, inside;
	unsigned tag;
	if (!der_next(&d, &tag, &inside))
		return 0;
	uint32_t hash = hash_name(2166136261u, inside, 0);
	for (unsigned i = 0; i < r->n; i++)
		if (r->list[i].der && r->list[i].hash == hash)
			parse(r, &r->list[i], store);
	X509_OBJECT *o =
		X509_OBJECT_retrieve_by_subject(X509_STORE_get0_objects(store), type, name);
	X509 *x = o ? X509_OBJECT_get0_X509(o) : NULL;
	if (!x || X509_OBJECT_set1_X509(ret, x) != 1)
		return 0;
	X509_free(x); /* who asked counts for himself; the store has its own */
	return 1;
}

bool roots_add_to(struct roots *r, X509_STORE *store)
{
	if (!r->method)
		r->method = X509_LOOKUP_meth_new("roots");
	if (!r->method || X509_LOOKUP_meth_set_get_by_subject(r->method, find) != 1)
		return false;
	X509_LOOKUP *lookup = X509_STORE_add_lookup(store, r->method);
	return lookup && X509_LOOKUP_set_method_data(lookup, r) == 1;
}

unsigned roots_parsed(const struct roots *r, unsigned *ret_all)
{
	*ret_all = r->n;
	return r->n_parsed;
}
