/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/inspect.h"

#include <assert.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

#define CIPHERS_TLS12 "ECDHE+AESGCM:ECDHE+CHACHA20"
#define RECORD 16384u

struct inspect_roots {
	SSL_CTX *as_server, *as_client;
	BIO_METHOD *bio;
};

/* What a BIO of ours reads from and writes to. */
struct side {
	struct stage_buf *in, *out;
	const bool *ended;
};

struct inspect {
	struct stage stage;
	struct stage *inner; /* owned */
	struct stage_io plain;
	struct name host;
	struct inspect_roots *roots;
	SSL *client, *server; /* server: NULL until one is wanted and there */
	struct side client_side, server_side;
	bool client_ready, server_ready;
	bool is_ending, wants_server;
	const char *why;
};

static const unsigned char http11[] = "\x08http/1.1";

/* BIO: bytes of a stage, with nothing in between. */

static int bio_read(BIO *b, char *to, int size)
{
	struct side *s = BIO_get_data(b);
	size_t n = s->in->len < (size_t)size ? s->in->len : (size_t)size;

	BIO_clear_retry_flags(b);
	if (n == 0) {
		if (!*s->ended)
			BIO_set_retry_read(b);
		return *s->ended ? 0 : -1;
	}
	memcpy(to, s->in->data + s->in->start, n);
	stage_took(s->in, n);
	return (int)n;
}

static int bio_write(BIO *b, const char *from, int size)
{
	struct side *s = BIO_get_data(b);
	size_t room = STAGE_BUF_MAX - s->out->len;
	size_t n = room < (size_t)size ? room : (size_t)size;

	BIO_clear_retry_flags(b);
	if (n == 0 || stage_put(s->out, from, n) < 0) {
		BIO_set_retry_write(b);
		return -1;
	}
	return (int)n;
}

static long bio_ctrl(BIO *b, int what, long number, void *arg)
{
	struct side *s = BIO_get_data(b);

	(void)number;
	(void)arg;
	if (what == BIO_CTRL_EOF)
		return *s->ended && s->in->len == 0;
	return what == BIO_CTRL_FLUSH;
}

static int bio_create(BIO *b)
{
	BIO_set_init(b, 1);
	return 1;
}

static BIO_METHOD *bio_method(void)
{
	BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "stage");

	if (m && BIO_meth_set_read(m, bio_read) == 1 && BIO_meth_set_write(m, bio_write) == 1 &&
	    BIO_meth_set_ctrl(m, bio_ctrl) == 1 && BIO_meth_set_create(m, bio_create) == 1)
		return m;
	BIO_meth_free(m);
	return NULL;
}

/* The client's side: the name that it says is the host's, and HTTP/1.1 is what it takes. */

static int check_name(SSL *ssl, int *alert, void *arg)
{
	const struct inspect *s = SSL_get_app_data(ssl);
	const char *said = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
	struct name n;
	const char *why = NULL;

	(void)arg;
	/* Addresses are not said in a hello; a name that is not is one that nobody checked. */
	if (!said && s->host.kind != NAME_DNS)
		return SSL_TLSEXT_ERR_OK;
	if (said && name_parse(said, strlen(said), &n, &why) == 0 && name_equal(&n, &s->host))
		return SSL_TLSEXT_ERR_OK;
	*alert = SSL_AD_UNRECOGNIZED_NAME;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

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

static bool configure(SSL_CTX *ctx)
{
	SSL_CTX_set_options(ctx,
			    SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				      SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	return SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1 &&
	       SSL_CTX_set_cipher_list(ctx, CIPHERS_TLS12) == 1;
}

static bool configure_both(struct inspect_roots *r)
{
	if (!r->as_server || !r->as_client || !configure(r->as_server) || !configure(r->as_client))
		return false;
	SSL_CTX_set_tlsext_servername_callback(r->as_server, check_name);
	SSL_CTX_set_alpn_select_cb(r->as_server, choose_protocol, NULL);
	SSL_CTX_set_verify(r->as_client, SSL_VERIFY_PEER, NULL);
	/* Servers that are older than our ciphers are reached all the same: it is their choice. */
	return SSL_CTX_set_num_tickets(r->as_server, 0) == 1 &&
	       SSL_CTX_set_max_early_data(r->as_server, 0) == 1 &&
	       SSL_CTX_set_cipher_list(r->as_client, "DEFAULT") == 1 &&
	       SSL_CTX_set_alpn_protos(r->as_client, http11, sizeof(http11) - 1) == 0;
}

/* How many; of one that is broken the rest is not looked at. */
static unsigned add_roots(X509_STORE *store, const char *pem, size_t len)
{
	BIO *in = BIO_new_mem_buf(pem, (int)len);
	unsigned n = 0;
	X509 *x;

	while (in && (x = PEM_read_bio_X509(in, NULL, NULL, NULL))) {
		n += X509_STORE_add_cert(store, x) == 1;
		X509_free(x);
	}
	BIO_free(in);
	ERR_clear_error();
	return n;
}

int inspect_roots_new(const char *pem, size_t len, struct inspect_roots **ret, struct err *e)
{
	struct inspect_roots *r = calloc(1, sizeof(*r));

	assert(pem && ret && len < (16u << 20));
	if (!r)
		return err_sys(e, "roots");
	/* Its configuration is not ours, and the gate may read no file. */
	(void)OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL); /* the next call tells */
	r->as_server = SSL_CTX_new(TLS_server_method());
	r->as_client = SSL_CTX_new(TLS_client_method());
	r->bio = bio_method();
	if (!r->bio || !configure_both(r)) {
		inspect_roots_free(r);
		return err_set(e, ERR_INTERNAL, "make a TLS context");
	}
	if (add_roots(SSL_CTX_get_cert_store(r->as_client), pem, len) == 0) {
		inspect_roots_free(r);
		(void)err_set(e, ERR_INVALID, "no certificate of an authority");
		return err_remedy(e, "install the package ca-certificates");
	}
	*ret = r;
	return 0;
}

void inspect_roots_free(struct inspect_roots *r)
{
	if (!r)
		return;
	SSL_CTX_free(r->as_server);
	SSL_CTX_free(r->as_client);
	BIO_meth_free(r->bio);
	free(r);
}

static SSL *new_ssl(struct inspect *s, SSL_CTX *ctx, struct side *side)
{
	SSL *ssl = SSL_new(ctx);
	BIO *b = ssl ? BIO_new(s->roots->bio) : NULL;

	if (!b) {
		SSL_free(ssl);
		return NULL;
	}
	BIO_set_data(b, side);
	SSL_set_bio(ssl, b, b);
	SSL_set_app_data(ssl, s);
	return ssl;
}

/* The stage. Each step says whether it moved something. */

static void bind_sides(struct inspect *s, struct stage_io *io)
{
	s->client_side = (struct side){&io->from_client, &io->to_client, &io->client_ended};
	s->server_side = (struct side){&io->from_server, &io->to_server, &io->server_ended};
}

static bool waits(const SSL *ssl, int r)
{
	int error = SSL_get_error(ssl, r);

	return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
}

/* 1: done. 0: it needs more bytes. -1: failed. */
static int shake(SSL *ssl)
{
	ERR_clear_error();
	int r = SSL_do_handshake(ssl);

	return r == 1 ? 1 : waits(ssl, r) ? 0 : -1;
}

/* Plaintext from one side. Returns bytes; *ret_ended: it said that it sends no more; *ret_cut: it
 * ended without saying so. */
static size_t take(SSL *ssl, struct stage_buf *to, bool *ret_ended, bool *ret_cut)
{
	size_t all = 0;

	while (!*ret_ended && STAGE_BUF_MAX - to->len >= RECORD) {
		char buf[RECORD];

		ERR_clear_error();
		int n = SSL_read(ssl, buf, sizeof(buf));
		if (n <= 0) {
			if (waits(ssl, n))
				break;
			*ret_cut = SSL_get_error(ssl, n) != SSL_ERROR_ZERO_RETURN;
			*ret_ended = true;
			break;
		}
		if (stage_put(to, buf, (size_t)n) < 0)
			break; /* no memory; there was room */
		all += (size_t)n;
	}
	return all;
}

/* Plaintext to one side. Bytes, or -1. */
static ssize_t give(SSL *ssl, struct stage_buf *from)
{
	ssize_t all = 0;

	while (from->len) {
		ERR_clear_error();
		int n = SSL_write(ssl, from->data + from->start, (int)from->len);
		if (n <= 0)
			return waits(ssl, n) ? all : -1;
		stage_took(from, (size_t)n);
		all += n;
	}
	return all;
}

static bool begin_server(struct inspect *s)
{
	SSL *ssl = s->server = new_ssl(s, s->roots->as_client, &s->server_side);

	if (!ssl)
		return false;
	SSL_set_connect_state(ssl);
	SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	if (s->host.kind == NAME_DNS)
		return SSL_set1_host(ssl, s->host.text) == 1 &&
		       SSL_set_tlsext_host_name(ssl, s->host.text) == 1;
	return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), s->host.text) == 1;
}

static const char *reason(const SSL *ssl)
{
	long verify = SSL_get_verify_result(ssl);

	if (verify != X509_V_OK)
		return X509_verify_cert_error_string(verify);
	return "the server's TLS handshake failed";
}

static enum stage_next end_with(struct inspect *s, enum stage_next next)
{
	if (next == STAGE_ABORT)
		return next;
	s->is_ending = true;
	return STAGE_ON;
}

/* The server was wanted: its handshake, before anything of a request goes there. */
static enum stage_next reach_server(struct inspect *s)
{
	if (!s->server && !begin_server(s))
		return STAGE_ABORT;
	int r = shake(s->server);
	if (r > 0 && SSL_get_verify_result(s->server) == X509_V_OK) {
		s->server_ready = s->plain.server_open = true;
	} else if (r != 0) {
		s->why = reason(s->server);
		return end_with(s, s->inner->ops->no_server(s->inner, &s->plain, s->why));
	}
	return STAGE_ON;
}

static enum stage_next run_inner(struct inspect *s)
{
	enum stage_next next = s->inner->ops->run(s->inner, &s->plain);

	if (next == STAGE_SERVER)
		s->wants_server = true;
	return next == STAGE_END || next == STAGE_ABORT ? end_with(s, next) : STAGE_ON;
}

/* All that is inside is outside, too: say so and let the gate close. */
static enum stage_next last_words(struct inspect *s)
{
	if (s->plain.to_client.len && give(s->client, &s->plain.to_client) < 0)
		return STAGE_ABORT;
	if (s->plain.to_client.len)
		return STAGE_ON;
	ERR_clear_error();
	(void)SSL_shutdown(s->client); /* what it writes is in the buffer, or there is no room */
	return STAGE_END;
}

static size_t held(const struct inspect *s, const struct stage_io *io)
{
	return s->plain.from_client.len + 3 * s->plain.to_client.len +
	       5 * s->plain.from_server.len + 7 * s->plain.to_server.len +
	       11 * io->from_client.len + 13 * io->to_client.len + 17 * io->from_server.len +
	       19 * io->to_server.len + s->plain.client_ended + 2 * s->plain.server_ended;
}

/* One round. *ret_next is for the gate when it is not STAGE_ON. */
static void round_once(struct inspect *s, struct stage_io *io, enum stage_next *ret_next)
{
	struct stage_io *p = &s->plain;
	bool cut = false;

	(void)take(s->client, &p->from_client, &p->client_ended, &cut);
	if (s->server_ready)
		(void)take(s->server, &p->from_server, &p->server_ended, &p->server_cut);
	*ret_next = run_inner(s);
	if (*ret_next == STAGE_ON && s->wants_server && io->server_open && !s->server_ready &&
	    !s->is_ending)
		*ret_next = reach_server(s);
	if (*ret_next != STAGE_ON || s->is_ending)
		return;
	if (give(s->client, &p->to_client) < 0)
		*ret_next = STAGE_ABORT;
	/* A server that takes no more may still have answered why. */
	else if (s->server_ready && give(s->server, &p->to_server) < 0)
		stage_buf_done(&p->to_server);
}

static enum stage_next run(struct stage *stage, struct stage_io *io)
{
	struct inspect *s = (struct inspect *)(void *)stage;
	enum stage_next next = STAGE_ON;
	size_t before;

	bind_sides(s, io);
	if (!s->client_ready) {
		int r = shake(s->client);

		if (r < 0)
			s->why = "the client's TLS handshake failed";
		if (r <= 0)
			return r == 0 && !io->client_ended ? STAGE_ON : STAGE_END;
		s->client_ready = true;
	}
	do {
		before = held(s, io);
		if (!s->is_ending)
			round_once(s, io, &next);
	} while (next == STAGE_ON && !s->is_ending && held(s, io) != before);
	if (next == STAGE_ON && s->is_ending)
		return last_words(s);
	if (next == STAGE_ON && s->wants_server && !io->server_open)
		return STAGE_SERVER;
	return next;
}

static enum stage_next no_server(struct stage *stage, struct stage_io *io, const char *why)
{
	struct inspect *s = (struct inspect *)(void *)stage;

	bind_sides(s, io);
	if (end_with(s, s->inner->ops->no_server(s->inner, &s->plain, why)) == STAGE_ABORT)
		return STAGE_ABORT;
	return last_words(s);
}

static void inspect_free(struct stage *stage)
{
	struct inspect *s = (struct inspect *)(void *)stage;

	SSL_free(s->client);
	SSL_free(s->server);
	s->inner->ops->free(s->inner);
	stage_buf_done(&s->plain.from_client);
	stage_buf_done(&s->plain.to_client);
	stage_buf_done(&s->plain.from_server);
	stage_buf_done(&s->plain.to_server);
	free(s);
}

static bool begin_client(struct inspect *s, struct authority *a)
{
	struct err ignored = ERR_INIT;
	X509 *cert = NULL;
	EVP_PKEY *key = NULL;

	if (authority_leaf(a, &s->host, &cert, &key, &ignored) < 0)
		return false;
	s->client = new_ssl(s, s->roots->as_server, &s->client_side);
	if (!s->client || SSL_use_certificate(s->client, cert) != 1 ||
	    SSL_use_PrivateKey(s->client, key) != 1)
		return false;
	SSL_set_accept_state(s->client);
	return true;
}

struct stage *inspect_new(struct authority *a, struct inspect_roots *roots, const struct name *host,
			  struct stage *inner)
{
	static const struct stage_ops ops = {run, no_server, inspect_free};
	struct inspect *s = inner ? calloc(1, sizeof(*s)) : NULL;

	assert(a && roots && host);
	if (!s) {
		if (inner)
			inner->ops->free(inner);
		return NULL;
	}
	s->stage.ops = &ops;
	s->inner = inner;
	s->roots = roots;
	s->host = *host;
	if (!begin_client(s, a)) {
		inspect_free(&s->stage);
		return NULL;
	}
	return &s->stage;
}

const char *inspect_why(const struct stage *stage)
{
	return ((const struct inspect *)(const void *)stage)->why;
}
