/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/channel.h"

#include <assert.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "egress/roots.h"
#include "egress/hold.h"

#define CIPHERS_TLS12 "ECDHE+AESGCM:ECDHE+CHACHA20"
#define RECORD 16384u
#define SESSIONS_MAX 16u
#define SESSION_S 300

struct channel_roots {
	SSL_CTX *as_server, *as_client;
	struct roots *anchors; /* of as_client's store */
	BIO_METHOD *bio;
};

/* The one that a server gave last. */
struct session {
	struct name host;
	uint16_t port;
	SSL_SESSION *given; /* owned; NULL: the place is free */
};

struct channel_sessions {
	struct session all[SESSIONS_MAX];
	unsigned next; /* to make room for another */
};

struct channel {
	SSL *ssl;
	const struct name *host;	   /* borrowed */
	struct channel_sessions *sessions; /* borrowed; NULL: nothing is kept */
	uint16_t port;
	bool takes_h2;
	bool wants_ours; /* the server asked for a certificate, once its own was good */
	/* What our BIO reads from and writes to; borrowed. */
	struct stage_buf *in, *out;
	const bool *ended;
	void *carried; /* owned, by free_carried */
	void (*free_carried)(void *what);
};

static const unsigned char http11[] = "\x08http/1.1", both[] = "\x02h2\x08http/1.1";

/* BIO: bytes of a stage, with nothing in between. */

static int bio_read(BIO *b, char *to, int size)
{
	struct channel *s = BIO_get_data(b);
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
	struct channel *s = BIO_get_data(b);
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
	struct channel *s = BIO_get_data(b);

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
	const struct channel *s = SSL_get_app_data(ssl);
	const char *said = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
	struct name n;
	const char *why = NULL;

	(void)arg;
	/* Addresses are not said in a hello; a name that is not is one that nobody checked. */
	if (!HOLD_GATE_SNI || (!said && s->host->kind != NAME_DNS))
		return SSL_TLSEXT_ERR_OK;
	if (said && name_parse(said, strlen(said), &n, &why) == 0 && name_equal(&n, s->host))
		return SSL_TLSEXT_ERR_OK;
	*alert = SSL_AD_UNRECOGNIZED_NAME;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static int choose_protocol(SSL *ssl, const unsigned char **ret, unsigned char *ret_len,
			   const unsigned char *offered, unsigned len, void *arg)
{
	const struct channel *c = SSL_get_app_data(ssl);
	const unsigned char *ours = c->takes_h2 ? both : http11;
	unsigned n = (unsigned)(c->takes_h2 ? sizeof(both) : sizeof(http11)) - 1;
	unsigned char *chosen = NULL;

	(void)arg;
	if (SSL_select_next_proto(&chosen, ret_len, ours, n, offered, len) !=
	    OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*ret = chosen;
	return SSL_TLSEXT_ERR_OK;
}

/* It is asked for behind the server's own, which was looked at by then. */
static int no_certificate(SSL *ssl, X509 **cert, EVP_PKEY **key)
{
	struct channel *c = SSL_get_app_data(ssl);

	(void)cert;
	(void)key;
	c->wants_ours = true;
	return 0;
}

/* Servers that know us again. */

static struct session *find_session(struct channel_sessions *all, const struct channel *c)
{
	for (unsigned i = 0; i < SESSIONS_MAX; i++) {
		struct session *s = &all->all[i];

		if (s->given &&
		    (!HOLD_GATE_RESUME || (s->port == c->port && name_equal(&s->host, c->host))))
			return s;
	}
	return NULL;
}

/* A copy, here and when it is used: OpenSSL spoils those of connections that end without a word. */
static int keep_session(SSL *ssl, SSL_SESSION *given)
{
	const struct channel *c = SSL_get_app_data(ssl);

	if (!c->sessions || SSL_version(ssl) != TLS1_3_VERSION || !SSL_SESSION_is_resumable(given))
		return 0;
	SSL_SESSION *copy = SSL_SESSION_dup(given);
	if (!copy)
		return 0;
	struct session *s = find_session(c->sessions, c);
	if (!s) {
		s = &c->sessions->all[c->sessions->next];
		c->sessions->next = (c->sessions->next + 1) % SESSIONS_MAX;
	}
	SSL_SESSION_free(s->given);
	*s = (struct session){*c->host, c->port, copy};
	return 0; /* what was given stays OpenSSL's */
}

static time_t given_at(const SSL_SESSION *given)
{
#if OPENSSL_VERSION_NUMBER >= 0x30300000L
	return SSL_SESSION_get_time_ex(given);
#else
	return (time_t)SSL_SESSION_get_time(given);
#endif
}

/* Whom it was given by, then, is who he was, and still may be. */
static bool is_still_good(SSL_SESSION *given, const struct name *host)
{
	X509 *cert = SSL_SESSION_get0_peer(given);

	if (!HOLD_GATE_RESUME)
		return true;
	if (!cert || time(NULL) - given_at(given) > SESSION_S ||
	    X509_cmp_current_time(X509_get0_notAfter(cert)) <= 0)
		return false;
	return host->kind == NAME_DNS
		       ? X509_check_host(cert, host->text, host->len,
					 X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS, NULL) == 1
		       : X509_check_ip_asc(cert, host->text, 0) == 1;
}

void channel_resume(struct channel *c, struct channel_sessions *all, uint16_t port)
{
	assert(c && all);
	c->sessions = all;
	c->port = port;
	struct session *s = find_session(all, c);
	if (!s)
		return;
	if (!is_still_good(s->given, c->host)) {
		SSL_SESSION_free(s->given);
		s->given = NULL;
		return;
	}
	SSL_SESSION *copy = SSL_SESSION_dup(s->given);
	if (copy)
		(void)SSL_set_session(c->ssl, copy); /* without it the handshake is longer */
	SSL_SESSION_free(copy);
}

struct channel_sessions *channel_sessions_new(void)
{
	return calloc(1, sizeof(struct channel_sessions));
}

void channel_sessions_free(struct channel_sessions *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < SESSIONS_MAX; i++)
		SSL_SESSION_free(s->all[i].given);
	free(s);
}

static bool configure(SSL_CTX *ctx)
{
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				      SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	return SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1 &&
	       SSL_CTX_set_cipher_list(ctx, CIPHERS_TLS12) == 1;
}

static bool configure_both(struct channel_roots *r)
{
	if (!r->as_server || !r->as_client || !configure(r->as_server) || !configure(r->as_client))
		return false;
	SSL_CTX_set_tlsext_servername_callback(r->as_server, check_name);
	SSL_CTX_set_alpn_select_cb(r->as_server, choose_protocol, NULL);
	SSL_CTX_set_verify(r->as_client, HOLD_GATE_VERIFY ? SSL_VERIFY_PEER : SSL_VERIFY_NONE,
			   NULL);
	SSL_CTX_set_client_cert_cb(r->as_client, no_certificate);
	/* OpenSSL itself keeps none: whose they are is not for it to know. */
	SSL_CTX_set_session_cache_mode(r->as_client,
				       SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(r->as_client, keep_session);
	SSL_CTX_set_options(r->as_server, SSL_OP_NO_TICKET);
	/* Servers that are older than our ciphers are reached all the same: it is their choice. */
	return SSL_CTX_set_num_tickets(r->as_server, 0) == 1 &&
	       SSL_CTX_set_max_early_data(r->as_server, 0) == 1 &&
	       SSL_CTX_set_cipher_list(r->as_client, "DEFAULT") == 1;
}

int channel_roots_new(const char *pem, size_t len, struct channel_roots **ret, struct err *e)
{
	struct channel_roots *r = calloc(1, sizeof(*r));

	assert(pem && ret && len < (16u << 20));
	if (!r)
		return err_sys(e, "roots");
	/* Its configuration is not ours, and the gate may read no file. */
	(void)OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL); /* the next call tells */
	r->as_server = SSL_CTX_new(TLS_server_method());
	r->as_client = SSL_CTX_new(TLS_client_method());
	r->bio = bio_method();
	if (!r->bio || !configure_both(r)) {
		channel_roots_free(r);
		return err_set(e, ERR_INTERNAL, "make a TLS context");
	}
	r->anchors = roots_new(pem, len);
	if (!r->anchors || !roots_add_to(r->anchors, SSL_CTX_get_cert_store(r->as_client))) {
		channel_roots_free(r);
		(void)err_set(e, ERR_INVALID, "no certificate of an authority");
		return err_remedy(e, "install the package ca-certificates");
	}
	*ret = r;
	return 0;
}

void channel_roots_free(struct channel_roots *r)
{
	if (!r)
		return;
	SSL_CTX_free(r->as_server);
	SSL_CTX_free(r->as_client);
	roots_free(r->anchors);
	BIO_meth_free(r->bio);
	free(r);
}

static struct channel *new_channel(struct channel_roots *r, SSL_CTX *ctx, const struct name *host)
{
	struct channel *c = calloc(1, sizeof(*c));
	BIO *b = NULL;

	if (!c)
		return NULL;
	c->host = host;
	c->ssl = SSL_new(ctx);
	b = c->ssl ? BIO_new(r->bio) : NULL;
	if (!b) {
		channel_free(c);
		return NULL;
	}
	BIO_set_data(b, c);
	SSL_set_bio(c->ssl, b, b);
	SSL_set_app_data(c->ssl, c);
	return c;
}

struct channel *channel_accept(struct channel_roots *roots, struct authority *a,
			       const struct name *host, bool takes_h2)
{
	struct err ignored = ERR_INIT;
	X509 *cert = NULL;
	EVP_PKEY *key = NULL;

	assert(roots && a && host);
	if (authority_leaf(a, host, &cert, &key, &ignored) < 0)
		return NULL;
	struct channel *c = new_channel(roots, roots->as_server, host);
	if (!c || SSL_use_certificate(c->ssl, cert) != 1 || SSL_use_PrivateKey(c->ssl, key) != 1) {
		channel_free(c);
		return NULL;
	}
	c->takes_h2 = takes_h2;
	SSL_set_accept_state(c->ssl);
	return c;
}

/* Whom the server has to be. */
static bool expect_host(SSL *ssl, const struct name *host)
{
	SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	if (host->kind == NAME_DNS)
		return SSL_set1_host(ssl, host->text) == 1 &&
		       SSL_set_tlsext_host_name(ssl, host->text) == 1;
	return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host->text) == 1;
}

struct channel *channel_connect(struct channel_roots *roots, const struct name *host,
				enum channel_offer offer)
{
	assert(roots && host);
	struct channel *c = new_channel(roots, roots->as_client, host);
	const unsigned char *list = offer == CHANNEL_HTTP2 ? both : http11;
	unsigned len = (unsigned)(offer == CHANNEL_HTTP2 ? sizeof(both) : sizeof(http11)) - 1;
	if (!c || !expect_host(c->ssl, host) ||
	    (offer != CHANNEL_NOTHING && SSL_set_alpn_protos(c->ssl, list, len) != 0)) {
		channel_free(c);
		return NULL;
	}
	SSL_set_connect_state(c->ssl);
	return c;
}

void channel_move(struct channel *c, const struct name *host)
{
	assert(name_equal(c->host, host));
	c->host = host;
}

void channel_free(struct channel *c)
{
	if (!c)
		return;
	if (c->carried)
		c->free_carried(c->carried);
	SSL_free(c->ssl);
	free(c);
}

void channel_carry(struct channel *c, void *what, void (*free_it)(void *what))
{
	assert(!c->carried && what && free_it);
	c->carried = what;
	c->free_carried = free_it;
}

void *channel_carried(const struct channel *c)
{
	return c->carried;
}

void channel_bind(struct channel *c, struct stage_buf *in, struct stage_buf *out, const bool *ended)
{
	c->in = in;
	c->out = out;
	c->ended = ended;
}

static bool waits(const SSL *ssl, int r)
{
	int error = SSL_get_error(ssl, r);

	return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
}

int channel_shake(struct channel *c)
{
	assert(c->in && c->out);
	ERR_clear_error();
	int r = SSL_do_handshake(c->ssl);

	return r == 1 ? 1 : waits(c->ssl, r) ? 0 : -1;
}

bool channel_is_h2(const struct channel *c)
{
	const unsigned char *chosen = NULL;
	unsigned len = 0;

	SSL_get0_alpn_selected(c->ssl, &chosen, &len);
	return len == 2 && memcmp(chosen, "h2", 2) == 0;
}

bool channel_is_proven(const struct channel *c)
{
	const SSL_CIPHER *cipher = SSL_get_pending_cipher(c->ssl);

	if (HOLD_GATE_VERIFY &&
	    (SSL_get_verify_result(c->ssl) != X509_V_OK || !SSL_get0_peer_certificate(c->ssl)))
		return false;
	/* Where the key only decrypts, nothing is proved before the end. */
	return SSL_is_init_finished(c->ssl) ||
	       (c->wants_ours && cipher && SSL_CIPHER_get_kx_nid(cipher) != NID_kx_rsa);
}

bool channel_is_quiet(const struct channel *c)
{
	return SSL_is_init_finished(c->ssl) && !SSL_has_pending(c->ssl) &&
	       SSL_get_shutdown(c->ssl) == 0;
}

bool channel_is_resumed(const struct channel *c)
{
	return SSL_session_reused(c->ssl) == 1;
}

const char *channel_why(const struct channel *c)
{
	long verify = SSL_get_verify_result(c->ssl);

	if (verify != X509_V_OK)
		return X509_verify_cert_error_string(verify);
	return "the server's TLS handshake failed";
}

size_t channel_take(struct channel *c, struct stage_buf *to, bool *ret_ended, bool *ret_cut)
{
	size_t all = 0;

	while (!*ret_ended && STAGE_BUF_MAX - to->len >= RECORD) {
		char buf[RECORD];

		ERR_clear_error();
		int n = SSL_read(c->ssl, buf, sizeof(buf));
		if (n <= 0) {
			if (waits(c->ssl, n))
				break;
			*ret_cut = SSL_get_error(c->ssl, n) != SSL_ERROR_ZERO_RETURN;
			*ret_ended = true;
			break;
		}
		if (stage_put(to, buf, (size_t)n) < 0)
			break; /* no memory; there was room */
		all += (size_t)n;
	}
	/* A ticket that came behind the handshake leaves a buffer to write an answer from, and none
	 * is written. Without effect while something is under way. */
	(void)SSL_free_buffers(c->ssl);
	return all;
}

ssize_t channel_give(struct channel *c, struct stage_buf *from)
{
	ssize_t all = 0;

	while (from->len) {
		ERR_clear_error();
		int n = SSL_write(c->ssl, from->data + from->start, (int)from->len);
		if (n <= 0)
			return waits(c->ssl, n) ? all : -1;
		stage_took(from, (size_t)n);
		all += n;
	}
	return all;
}

void channel_end(struct channel *c)
{
	ERR_clear_error();
	(void)SSL_shutdown(c->ssl); /* what it writes is in the buffer, or there is no room */
}
