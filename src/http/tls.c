/* SPDX-License-Identifier: Apache-2.0 */
#include "http/tls.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

#define PEM_MAX (256u << 10)
#define CIPHERS_TLS12 "ECDHE+AESGCM:ECDHE+CHACHA20"

struct tls_server {
	SSL_CTX *ctx;
};

struct tls {
	SSL *ssl;
	int error; /* once it failed, OpenSSL may not be asked again */
	char why[160];
};

/* Length and name, as on the wire. */
static const unsigned char http11[] = "\x08http/1.1";

static int choose_protocol(SSL *ssl, const unsigned char **ret, unsigned char *ret_len,
			   const unsigned char *offered, unsigned len, void *arg)
{
	unsigned char *chosen = NULL;

	(void)ssl;
	(void)arg;
	if (SSL_select_next_proto(&chosen, ret_len, http11, sizeof(http11) - 1, offered, len) !=
	    OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*ret = chosen;
	return SSL_TLSEXT_ERR_OK;
}

/* OpenSSL would ask at the terminal. */
static int no_passphrase(char *buf, int size, int writing, void *arg)
{
	(void)buf;
	(void)size;
	(void)writing;
	(void)arg;
	return -1;
}

/* The first of OpenSSL's reasons; the others follow from it. */
static const char *reason(void)
{
	unsigned long code = ERR_get_error();
	const char *text = code ? ERR_reason_error_string(code) : NULL;

	ERR_clear_error();
	return text ? text : "no reason given";
}

static int configure(SSL_CTX *ctx, struct err *e)
{
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
					 SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_TICKET);
	/* Buffers of an idle connection are given back: there may be thousands. */
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				      SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_alpn_select_cb(ctx, choose_protocol, NULL);
	SSL_CTX_set_default_passwd_cb(ctx, no_passphrase);
	if (SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1 ||
	    SSL_CTX_set_num_tickets(ctx, 0) != 1 || SSL_CTX_set_max_early_data(ctx, 0) != 1 ||
	    SSL_CTX_set_cipher_list(ctx, CIPHERS_TLS12) != 1)
		return err_set(e, ERR_INTERNAL, "configure TLS: %s", reason());
	return 0;
}

/* A file in memory, as OpenSSL reads it; wiped by close_pem(). */
struct pem {
	char data[PEM_MAX];
	size_t len;
	BIO *bio;
};

static void close_pem(struct pem **p)
{
	if (!*p)
		return;
	BIO_free((*p)->bio);
	OPENSSL_cleanse((*p)->data, sizeof((*p)->data));
	free(*p);
	*p = NULL;
}
#define auto_pem __attribute__((cleanup(close_pem))) struct pem

/* By its own offset: others may have the same open file. */
static struct pem *open_pem(int fd, const char *what, struct err *e)
{
	auto_pem *p = calloc(1, sizeof(*p));
	ssize_t n = 1;

	while (p && n > 0 && p->len < sizeof(p->data)) {
		n = pread(fd, p->data + p->len, sizeof(p->data) - p->len, (off_t)p->len);
		if (n < 0) {
			(void)err_sys(e, "read the %s", what);
			return NULL;
		}
		p->len += (size_t)n;
	}
	if (p && p->len == sizeof(p->data)) {
		(void)err_set(e, ERR_INVALID, "%s: more than %zu bytes", what, sizeof(p->data));
		return NULL;
	}
	if (p)
		p->bio = BIO_new_mem_buf(p->data, (int)p->len);
	if (!p || !p->bio)
		(void)err_sys(e, "read the %s", what);
	return p && p->bio ? take_ptr(&p) : NULL;
}

static int use_certificate(SSL_CTX *ctx, int fd, struct err *e)
{
	auto_pem *p = open_pem(fd, "certificate", e);

	if (!p)
		return -EINVAL;
	X509 *own = PEM_read_bio_X509_AUX(p->bio, NULL, no_passphrase, NULL);
	int good = own && SSL_CTX_use_certificate(ctx, own) == 1;
	X509_free(own);
	for (X509 *x; good && (x = PEM_read_bio_X509(p->bio, NULL, no_passphrase, NULL));)
		good = SSL_CTX_add0_chain_cert(ctx, x) == 1;
	/* The end of the file is where no other begins; anything else is a fault in it. */
	if (good && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE)
		ERR_clear_error();
	if (!good || ERR_peek_error())
		return err_set(e, ERR_INVALID, "certificate: %s", reason());
	return 0;
}

static int use_key(SSL_CTX *ctx, int fd, struct err *e)
{
	auto_pem *p = open_pem(fd, "key", e);

	if (!p)
		return -EINVAL;
	EVP_PKEY *key = PEM_read_bio_PrivateKey(p->bio, NULL, no_passphrase, NULL);
	int good = key != NULL;
	if (!good)
		(void)err_set(e, ERR_INVALID, "key: %s", reason());
	if (good &&
	    (SSL_CTX_use_PrivateKey(ctx, key) != 1 || SSL_CTX_check_private_key(ctx) != 1)) {
		good = 0;
		(void)err_set(e, ERR_INVALID, "the key is not the certificate's");
	}
	EVP_PKEY_free(key);
	return good ? 0 : -EINVAL;
}

int tls_server_new(int cert_fd, int key_fd, struct tls_server **ret, struct err *e)
{
	struct tls_server *s = calloc(1, sizeof(*s));
	int r = 0;

	assert(cert_fd >= 0 && key_fd >= 0 && ret);
	/* Its configuration is not ours, and who serves may read no file. */
	(void)OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL); /* SSL_CTX_new() tells */
	ERR_clear_error();
	if (!s)
		return err_sys(e, "make a TLS server");
	s->ctx = SSL_CTX_new(TLS_server_method());
	if (!s->ctx)
		r = err_set(e, ERR_INTERNAL, "make a TLS server: %s", reason());
	else
		r = configure(s->ctx, e);
	if (r == 0)
		r = use_certificate(s->ctx, cert_fd, e);
	if (r == 0)
		r = use_key(s->ctx, key_fd, e);
	if (r < 0) {
		tls_server_free(s);
		ERR_clear_error();
		return err_remedy(e, "give a PEM file of the certificate with those of its issuers "
				     "behind it, and one of its key without a passphrase");
	}
	*ret = s;
	return 0;
}

void tls_server_free(struct tls_server *s)
{
	if (!s)
		return;
	SSL_CTX_free(s->ctx);
	free(s);
}

int tls_new(struct tls_server *s, int fd, struct tls **ret, struct err *e)
{
	struct tls *t = calloc(1, sizeof(*t));

	assert(s && fd >= 0 && ret);
	if (!t)
		return err_sys(e, "make a TLS connection");
	ERR_clear_error();
	t->ssl = SSL_new(s->ctx);
	if (!t->ssl || SSL_set_fd(t->ssl, fd) != 1) {
		tls_end(t);
		return err_set(e, ERR_INTERNAL, "make a TLS connection: %s", reason());
	}
	SSL_set_accept_state(t->ssl);
	*ret = t;
	return 0;
}

void tls_end(struct tls *t)
{
	if (!t)
		return;
	SSL_free(t->ssl);
	free(t);
}

static int fail(struct tls *t, int error, const char *why)
{
	t->error = error;
	(void)snprintf(t->why, sizeof(t->why), "%s", why);
	ERR_clear_error();
	return error;
}

/* What a call of OpenSSL that returned `r` <= 0 means. 0: the other side is done. */
static int meaning(struct tls *t, int r)
{
	int error = errno;

	switch (SSL_get_error(t->ssl, r)) {
	case SSL_ERROR_WANT_READ: return TLS_WANT_READ;
	case SSL_ERROR_WANT_WRITE: return TLS_WANT_WRITE;
	case SSL_ERROR_ZERO_RETURN: return 0;
	case SSL_ERROR_SYSCALL:
		if (error == 0)
			return fail(t, -ECONNRESET, "it ended without saying so");
		return fail(t, -error, strerror(error));
	default: break; /* of OpenSSL's numbers, not ours */
	}
	if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
		return fail(t, -ECONNRESET, "it ended without saying so");
	return fail(t, -EPROTO, reason());
}

/* OpenSSL's queue of errors is the thread's; one left by somebody else would be taken for ours. */
static int begin(struct tls *t)
{
	assert(t);
	ERR_clear_error();
	errno = 0;
	return t->error;
}

int tls_handshake(struct tls *t)
{
	int r = begin(t);

	if (r < 0)
		return r;
	r = SSL_do_handshake(t->ssl);
	if (r == 1)
		return 0;
	r = meaning(t, r);
	return r ? r : fail(t, -ECONNRESET, "it ended before it began");
}

ssize_t tls_read(struct tls *t, void *buf, size_t size)
{
	int r = begin(t);

	assert(buf && size > 0);
	if (r < 0)
		return r;
	r = SSL_read(t->ssl, buf, size > INT_MAX ? INT_MAX : (int)size);
	return r > 0 ? r : meaning(t, r);
}

ssize_t tls_write(struct tls *t, const void *buf, size_t len)
{
	int r = begin(t);

	assert(buf && len > 0);
	if (r < 0)
		return r;
	r = SSL_write(t->ssl, buf, len > INT_MAX ? INT_MAX : (int)len);
	if (r > 0)
		return r;
	r = meaning(t, r);
	return r ? r : fail(t, -EPIPE, "the other side is done");
}

int tls_close(struct tls *t)
{
	int r = begin(t);

	if (r < 0)
		return r;
	if (SSL_in_init(t->ssl)) /* nothing to end yet */
		return 0;
	r = SSL_shutdown(t->ssl);
	return r >= 0 ? 0 : meaning(t, r);
}

size_t tls_pending(const struct tls *t)
{
	return (size_t)SSL_pending(t->ssl);
}

const char *tls_why(const struct tls *t)
{
	return t->why;
}

const char *tls_version(const struct tls *t)
{
	return SSL_get_version(t->ssl);
}
