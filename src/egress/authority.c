/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/authority.h"

#include <assert.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

/* How far a clock inside may be behind: that of a deterministic run which is run again shows its
 * first day. */
#define EARLIER (30 * 24 * 3600)
#define SERIAL_BITS 127

struct leaf {
	char host[NAME_SIZE];
	X509 *cert;
};

struct authority {
	EVP_PKEY *key, *leaf_key;
	X509 *cert;
	char pem[AUTHORITY_PEM_MAX];
	struct leaf leaf[AUTHORITY_KEPT];
	unsigned next; /* whose place is taken next */
};

static bool add_extension(X509 *x, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;

	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
	X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	bool good = ext && X509_add_ext(x, ext, -1) == 1;

	X509_EXTENSION_free(ext);
	return good;
}

static bool set_name(X509_NAME *n, const char *common)
{
	return X509_NAME_add_entry_by_txt(n, "O", MBSTRING_ASC, (const unsigned char *)"Pinfold",
					  -1, -1, 0) == 1 &&
	       X509_NAME_add_entry_by_txt(n, "CN", MBSTRING_ASC, (const unsigned char *)common, -1,
					  -1, 0) == 1;
}

/* Random: two certificates of one authority may not have the same. */
static bool set_serial(X509 *x)
{
	BIGNUM *n = BN_new();
	bool good = n && BN_rand(n, SERIAL_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
		    BN_to_ASN1_INTEGER(n, X509_get_serialNumber(x));

	BN_free(n);
	return good;
}

static X509 *new_cert(EVP_PKEY *key, const char *common)
{
	X509 *x = X509_new();

	if (x && X509_set_version(x, 2) == 1 && set_serial(x) &&
	    X509_gmtime_adj(X509_getm_notBefore(x), -EARLIER) &&
	    X509_gmtime_adj(X509_getm_notAfter(x), AUTHORITY_SECONDS - 300) &&
	    X509_set_pubkey(x, key) == 1 && set_name(X509_get_subject_name(x), common))
		return x;
	X509_free(x);
	return NULL;
}

static bool make_own(struct authority *a, const char *sandbox)
{
	char common[64];

	(void)snprintf(common, sizeof(common), "sandbox %.40s", sandbox);
	X509 *x = a->cert = new_cert(a->key, common);
	return x && X509_set_issuer_name(x, X509_get_subject_name(x)) == 1 &&
	       add_extension(x, x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
	       add_extension(x, x, NID_key_usage, "critical,keyCertSign") &&
	       add_extension(x, x, NID_subject_key_identifier, "hash") &&
	       X509_sign(x, a->key, EVP_sha256()) > 0;
}

static bool write_pem(struct authority *a)
{
	BIO *out = BIO_new(BIO_s_mem());
	char *data = NULL;
	bool good = out && PEM_write_bio_X509(out, a->cert) == 1;
	long len = good ? BIO_get_mem_data(out, &data) : 0;

	good = len > 0 && (size_t)len < sizeof(a->pem);
	if (good)
		memcpy(a->pem, data, (size_t)len);
	BIO_free(out);
	return good;
}

int authority_new(const char *sandbox, struct authority **ret, struct err *e)
{
	struct authority *a = calloc(1, sizeof(*a));

	assert(sandbox && ret);
	if (!a)
		return err_sys(e, "authority");
	a->key = EVP_EC_gen("P-256");
	a->leaf_key = EVP_EC_gen("P-256");
	if (!a->key || !a->leaf_key || !make_own(a, sandbox) || !write_pem(a)) {
		authority_free(a);
		return err_set(e, ERR_INTERNAL, "make an authority for the sandbox");
	}
	*ret = a;
	return 0;
}

void authority_free(struct authority *a)
{
	if (!a)
		return;
	for (unsigned i = 0; i < AUTHORITY_KEPT; i++)
		X509_free(a->leaf[i].cert);
	X509_free(a->cert);
	EVP_PKEY_free(a->key); /* wipes it */
	EVP_PKEY_free(a->leaf_key);
	free(a);
}

const char *authority_pem(const struct authority *a)
{
	return a->pem;
}

static X509 *make_leaf(struct authority *a, const struct name *host)
{
	char alternative[NAME_SIZE + 32];
	/* A common name has 64 characters; nobody looks at it any more. */
	X509 *x = new_cert(a->leaf_key, host->len < 64 ? host->text : "host");

	/* Names have letters, digits, - and _ alone: nothing that this language would read. */
	(void)snprintf(alternative, sizeof(alternative), "%s:%s",
		       host->kind == NAME_DNS ? "DNS" : "IP", host->text);
	if (x && X509_set_issuer_name(x, X509_get_subject_name(a->cert)) == 1 &&
	    add_extension(x, a->cert, NID_basic_constraints, "critical,CA:FALSE") &&
	    add_extension(x, a->cert, NID_key_usage, "critical,digitalSignature") &&
	    add_extension(x, a->cert, NID_ext_key_usage, "serverAuth") &&
	    add_extension(x, a->cert, NID_authority_key_identifier, "keyid:always") &&
	    add_extension(x, a->cert, NID_subject_alt_name, alternative) &&
	    X509_sign(x, a->key, EVP_sha256()) > 0)
		return x;
	X509_free(x);
	return NULL;
}

int authority_leaf(struct authority *a, const struct name *host, struct x509_st **ret_cert,
		   struct evp_pkey_st **ret_key, struct err *e)
{
	struct leaf *l = NULL;

	assert(a && host && ret_cert && ret_key);
	for (unsigned i = 0; i < AUTHORITY_KEPT && !l; i++)
		if (a->leaf[i].cert && strcmp(a->leaf[i].host, host->text) == 0)
			l = &a->leaf[i];
	if (!l) {
		X509 *cert = make_leaf(a, host);

		if (!cert)
			return err_set(e, ERR_INTERNAL, "make a certificate for %s", host->text);
		l = &a->leaf[a->next++ % AUTHORITY_KEPT];
		X509_free(l->cert);
		l->cert = cert;
		(void)snprintf(l->host, sizeof(l->host), "%s", host->text);
	}
	*ret_cert = l->cert;
	*ret_key = a->leaf_key;
	return 0;
}
