/* SPDX-License-Identifier: Apache-2.0 */
/* Inspection: our stage between a client and a server of OpenSSL's, all in buffers. */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdbool.h>

#include "egress/authority.h"
#include "egress/inspect.h"
#include "tap.h"

static struct authority *inside, *world, *other;
static struct inspect_roots *roots;

static struct name named(const char *text)
{
	struct name n;
	const char *why = NULL;

	if (name_parse(text, strlen(text), &n, &why) < 0)
		abort();
	return n;
}

static void open_all(void)
{
	struct err e = ERR_INIT;

	if (authority_new("sbxinside", &inside, &e) < 0 || authority_new("world", &world, &e) < 0 ||
	    authority_new("other", &other, &e) < 0 ||
	    inspect_roots_new(authority_pem(world), strlen(authority_pem(world)), &roots, &e) < 0)
		abort();
}

static void close_all(void)
{
	authority_free(inside);
	authority_free(world);
	authority_free(other);
	inspect_roots_free(roots);
}

/* What is inside: passes all on, and notes what it was told. */
struct plain {
	struct stage stage;
	const char *no_server;
	bool cut;
};

static struct plain *last; /* freed with its stage; looked at before */

static void pass(struct stage_buf *from, struct stage_buf *to)
{
	if (from->len && stage_put(to, from->data + from->start, from->len) == 0)
		stage_took(from, from->len);
}

static enum stage_next plain_run(struct stage *s, struct stage_io *io)
{
	struct plain *p = (struct plain *)(void *)s;

	p->cut = io->server_cut;
	if (io->server_open)
		pass(&io->from_client, &io->to_server);
	pass(&io->from_server, &io->to_client);
	if (io->server_ended && !io->from_server.len)
		return STAGE_END;
	return io->from_client.len && !io->server_open ? STAGE_SERVER : STAGE_ON;
}

static enum stage_next plain_none(struct stage *s, struct stage_io *io, const char *why)
{
	((struct plain *)(void *)s)->no_server = why;
	return stage_put(&io->to_client, "502", 3) < 0 ? STAGE_ABORT : STAGE_END;
}

static void plain_free(struct stage *s)
{
	free(s);
}

static struct stage *plain_new(void)
{
	static const struct stage_ops ops = {plain_run, plain_none, plain_free};

	last = calloc(1, sizeof(*last));
	last->stage.ops = &ops;
	return &last->stage;
}

/* Both ends in OpenSSL, the stage between them. */
struct scene {
	struct stage *stage;
	struct stage_io io;
	SSL_CTX *client_ctx, *server_ctx;
	SSL *client, *server;
	enum stage_next next;
	size_t piece; /* bytes that go at a time; 0: all */
	char to_server[256], to_client[256];
};

static void trust(SSL_CTX *ctx, const char *pem)
{
	BIO *in = BIO_new_mem_buf(pem, -1);
	X509 *x = PEM_read_bio_X509(in, NULL, NULL, NULL);

	X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), x);
	X509_free(x);
	BIO_free(in);
}

static SSL *new_end(SSL_CTX *ctx)
{
	SSL *ssl = SSL_new(ctx);

	SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
	return ssl;
}

/* A sandbox connects to `host` and says `sni`; the server shows a certificate of `by` for `shown`. */
static void scene_init(struct scene *s, const char *host, const char *sni, struct authority *by,
		       const char *shown)
{
	struct name at = named(host), is = named(shown);
	struct err e = ERR_INIT;
	X509 *cert;
	EVP_PKEY *key;

	memset(s, 0, sizeof(*s));
	s->stage = inspect_new(inside, roots, &at, plain_new());
	s->client_ctx = SSL_CTX_new(TLS_client_method());
	s->server_ctx = SSL_CTX_new(TLS_server_method());
	trust(s->client_ctx, authority_pem(inside));
	SSL_CTX_set_verify(s->client_ctx, SSL_VERIFY_PEER, NULL);
	s->client = new_end(s->client_ctx);
	SSL_set_connect_state(s->client);
	SSL_set1_host(s->client, host);
	if (sni)
		SSL_set_tlsext_host_name(s->client, sni);
	if (authority_leaf(by, &is, &cert, &key, &e) < 0)
		abort();
	s->server = new_end(s->server_ctx);
	SSL_use_certificate(s->server, cert);
	SSL_use_PrivateKey(s->server, key);
	SSL_set_accept_state(s->server);
}

static void scene_done(struct scene *s)
{
	s->stage->ops->free(s->stage);
	SSL_free(s->client);
	SSL_free(s->server);
	SSL_CTX_free(s->client_ctx);
	SSL_CTX_free(s->server_ctx);
	stage_buf_done(&s->io.from_client);
	stage_buf_done(&s->io.to_client);
	stage_buf_done(&s->io.from_server);
	stage_buf_done(&s->io.to_server);
}

static bool bytes_to(struct scene *s, struct stage_buf *to, SSL *from)
{
	char buf[4096];
	size_t most = s->piece ? s->piece : sizeof(buf);
	int n = BIO_read(SSL_get_wbio(from), buf, (int)most);

	return n > 0 && stage_put(to, buf, (size_t)n) == 0;
}

static bool bytes_from(struct scene *s, struct stage_buf *from, SSL *to)
{
	size_t n = from->len && s->piece && s->piece < from->len ? s->piece : from->len;

	if (n == 0)
		return false;
	BIO_write(SSL_get_rbio(to), from->data + from->start, (int)n);
	stage_took(from, n);
	return true;
}

static void hear(SSL *ssl, char *ret, size_t size)
{
	size_t len = strlen(ret);
	int n = SSL_read(ssl, ret + len, (int)(size - len - 1));

	if (n > 0)
		ret[len + (size_t)n] = '\0';
	ERR_clear_error();
}

/* Until nothing moves any more. */
static void play(struct scene *s)
{
	for (bool moved = true; moved;) {
		hear(s->client, s->to_client, sizeof(s->to_client));
		hear(s->server, s->to_server, sizeof(s->to_server));
		moved = bytes_to(s, &s->io.from_client, s->client);
		if (s->io.server_open)
			moved |= bytes_to(s, &s->io.from_server, s->server);
		if (s->next < STAGE_END)
			s->next = s->stage->ops->run(s->stage, &s->io);
		if (s->next == STAGE_SERVER && !s->io.server_open)
			moved = s->io.server_open = true;
		moved |= bytes_from(s, &s->io.to_client, s->client);
		moved |= s->io.server_open && bytes_from(s, &s->io.to_server, s->server);
	}
}

static void talk(size_t piece, const char *name)
{
	struct scene s;

	scene_init(&s, "api.test", "api.test", world, "api.test");
	s.piece = piece;
	play(&s);
	ok(SSL_is_init_finished(s.client), name);
	ok(!s.io.server_open, "no server is wanted before there is a request");
	SSL_write(s.client, "question", 8);
	play(&s);
	is_str(s.to_server, "question", "the server has the question");
	SSL_write(s.server, "answer", 6);
	play(&s);
	is_str(s.to_client, "answer", "the client has the answer");
	SSL_shutdown(s.server);
	play(&s);
	ok(!last->cut, "a server that says that it ends has sent all");
	is_int(s.next, STAGE_END, "and so the connection ends");
	is_int(SSL_get_shutdown(s.client) & SSL_RECEIVED_SHUTDOWN, SSL_RECEIVED_SHUTDOWN,
	       "which the client is told");
	scene_done(&s);
}

static void talks(void)
{
	talk(0, "the client believes our certificate");
	talk(1, "the same byte by byte");
}

static void refused_client(const char *host, const char *sni, const char *name)
{
	struct scene s;

	scene_init(&s, host, sni, world, host);
	play(&s);
	ok(!SSL_is_init_finished(s.client), name);
	ok(s.next == STAGE_END && !s.io.server_open, "and no server hears of it");
	scene_done(&s);
}

static void names(void)
{
	refused_client("api.test", "evil.test", "a hello with another name is refused");
	refused_client("api.test", "api.test.evil.test", "one that begins with it");
	refused_client("api.test", NULL, "one without a name");
}

static void same_names(void)
{
	struct scene s;

	scene_init(&s, "api.test", "API.Test", world, "api.test");
	play(&s);
	ok(SSL_is_init_finished(s.client), "letters have no case");
	scene_done(&s);
	scene_init(&s, "192.0.2.1", NULL, world, "192.0.2.1");
	X509_VERIFY_PARAM_set1_host(SSL_get0_param(s.client), NULL, 0);
	X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(s.client), "192.0.2.1");
	play(&s);
	ok(SSL_is_init_finished(s.client), "an address has no name in its hello");
	SSL_write(s.client, "question", 8);
	play(&s);
	is_str(s.to_server, "question", "and a certificate for the address will do");
	scene_done(&s);
}

/* The server's certificate is not what it should be. */
static void refused_server(struct authority *by, const char *shown, const char *why,
			   const char *name)
{
	struct scene s;

	scene_init(&s, "api.test", "api.test", by, shown);
	play(&s);
	SSL_write(s.client, "secret question", 15);
	play(&s);
	ok(last->no_server && strstr(last->no_server, why), name);
	diag("%s", last->no_server ? last->no_server : "nobody was told");
	is_str(s.to_server, "", "it is not asked anything");
	is_str(s.to_client, "502", "the client has an answer");
	is_int(s.next, STAGE_END, "and nothing goes on");
	scene_done(&s);
}

static void servers(void)
{
	refused_server(world, "other.test", "ostname mismatch", "a certificate for another name");
	refused_server(world, "xapi.test", "ostname mismatch", "for a longer one");
	refused_server(other, "api.test", "issuer certificate",
		       "of an authority that nobody knows");
	refused_server(inside, "api.test", "issuer certificate", "of the sandbox's own authority");
}

static void old_client(void)
{
	struct scene s;

	scene_init(&s, "api.test", "api.test", world, "api.test");
	SSL_set_security_level(s.client, 0);
	SSL_set_min_proto_version(s.client, TLS1_1_VERSION);
	SSL_set_max_proto_version(s.client, TLS1_1_VERSION);
	play(&s);
	ok(!SSL_is_init_finished(s.client), "TLS 1.1 is refused");
	scene_done(&s);
	scene_init(&s, "api.test", "api.test", world, "api.test");
	SSL_set_alpn_protos(s.client, (const unsigned char *)"\x02h2", 3);
	play(&s);
	ok(!SSL_is_init_finished(s.client), "a client that speaks HTTP/2 alone is refused");
	scene_done(&s);
}

static void endings(void)
{
	struct scene s;

	scene_init(&s, "api.test", "api.test", world, "api.test");
	SSL_write(s.client, "x", 1);
	play(&s);
	SSL_write(s.client, "question", 8);
	play(&s);
	SSL_write(s.server, "half of it", 10);
	play(&s);
	s.io.server_ended = true;
	play(&s);
	ok(last->cut, "a server that is cut off has not sent all");
	scene_done(&s);

	scene_init(&s, "api.test", "api.test", world, "api.test");
	(void)stage_put(&s.io.from_client, "GET / HTTP/1.1\r\n\r\n", 18);
	s.next = s.stage->ops->run(s.stage, &s.io);
	is_int(s.next, STAGE_END, "what is no TLS ends");
	scene_done(&s);

	scene_init(&s, "api.test", "api.test", world, "api.test");
	play(&s);
	s.next = s.stage->ops->no_server(s.stage, &s.io, "it is not there");
	play(&s);
	is_str(s.to_client, "502", "no server at all: the client has an answer");
	scene_done(&s);
}

/* A client that does not read holds the server up, and nothing grows. */
static void pressure(void)
{
	static char block[16384];
	struct scene s;
	size_t put = 0, got = 0;

	scene_init(&s, "api.test", "api.test", world, "api.test");
	SSL_write(s.client, "x", 1);
	play(&s);
	SSL_write(s.client, "question", 8);
	play(&s);
	for (int i = 0; i < 64; i++) {
		if (SSL_write(s.server, block, sizeof(block)) > 0)
			put += sizeof(block);
		while (STAGE_BUF_MAX - s.io.from_server.len > 4096 &&
		       bytes_to(&s, &s.io.from_server, s.server))
			;
		s.next = s.stage->ops->run(s.stage, &s.io);
	}
	ok(s.io.to_client.len <= STAGE_BUF_MAX && BIO_pending(SSL_get_wbio(s.server)) > 512 << 10,
	   "a slow client: what the server sends waits at the server");
	for (int i = 0; i < 4000 && got < put; i++) {
		while (STAGE_BUF_MAX - s.io.from_server.len > 4096 &&
		       bytes_to(&s, &s.io.from_server, s.server))
			;
		s.next = s.stage->ops->run(s.stage, &s.io);
		(void)bytes_from(&s, &s.io.to_client, s.client);
		for (int n; (n = SSL_read(s.client, block, sizeof(block))) > 0;)
			got += (size_t)n;
	}
	is_int((long)got, (long)put, "and all of it comes when he reads");
	scene_done(&s);
}

static void authorities(void)
{
	struct name a = named("a.test"), b = named("b.test");
	struct err e = ERR_INIT;
	X509 *one, *again, *two;
	EVP_PKEY *key;
	int days = 0, seconds = 0;

	ok(strcmp(authority_pem(inside), authority_pem(other)) != 0, "each has a key of its own");
	authority_leaf(inside, &a, &one, &key, &e);
	authority_leaf(inside, &a, &again, &key, &e);
	ok(one == again, "a certificate is kept");
	is_int(X509_check_host(one, "a.test", 0, 0, NULL), 1, "it is for its host");
	is_int(X509_check_host(one, "x.a.test", 0, 0, NULL), 0, "and no other");
	is_int(X509_check_ca(one), 0, "it makes no others");
	ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(one));
	ok(days == 0 && seconds > 80000, "it ends within a day");
	authority_leaf(inside, &b, &two, &key, &e);
	ok(ASN1_INTEGER_cmp(X509_get0_serialNumber(one), X509_get0_serialNumber(two)) != 0,
	   "serial numbers differ");
	for (int i = 0; i < 200; i++) {
		char text[32];

		snprintf(text, sizeof(text), "h%d.test", i);
		struct name n = named(text);
		if (authority_leaf(inside, &n, &one, &key, &e) < 0 ||
		    X509_check_host(one, text, 0, 0, NULL) != 1)
			ok(false, "one of many");
	}
	ok(true, "more hosts than are kept");
}

static void no_roots(void)
{
	struct inspect_roots *r = NULL;
	struct err e = ERR_INIT;

	ok(inspect_roots_new("nothing", 7, &r, &e) < 0 && !r, "without roots nobody is believed");
	ok(e.remedy[0], "and there is a remedy");
}

int main(void)
{
	open_all();
	TAP_RUN(talks);
	TAP_RUN(names);
	TAP_RUN(same_names);
	TAP_RUN(servers);
	TAP_RUN(old_client);
	TAP_RUN(endings);
	TAP_RUN(pressure);
	TAP_RUN(authorities);
	TAP_RUN(no_roots);
	close_all();
	return tap_done();
}
