/* SPDX-License-Identifier: Apache-2.0 */
/* Inspection: our stage between a client and a server of OpenSSL's, all in buffers. */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdbool.h>

#include "egress/authority.h"
#include "egress/inspect.h"
#include "egress/roots.h"
#include "tap.h"

static struct authority *inside, *world, *other;
static struct channel_roots *roots;

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
	    channel_roots_new(authority_pem(world), strlen(authority_pem(world)), &roots, &e) < 0)
		abort();
}

static void close_all(void)
{
	authority_free(inside);
	authority_free(world);
	authority_free(other);
	channel_roots_free(roots);
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

static struct stage *plain_new(void *arg, bool is_h2)
{
	static const struct stage_ops ops = {
		.run = plain_run, .no_server = plain_none, .free = plain_free};

	(void)arg;
	(void)is_h2;
	last = calloc(1, sizeof(*last));
	last->stage.ops = &ops;
	return &last->stage;
}

/* Both ends in OpenSSL, the stage between them. */
struct scene {
	struct name at;
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

/* A sandbox connects to `host` and says `sni`; the server shows a certificate of `by` for
 * `shown`. */
static void scene_init(struct scene *s, const char *host, const char *sni, struct authority *by,
		       const char *shown)
{
	struct name is = named(shown);
	struct err e = ERR_INIT;
	X509 *cert;
	EVP_PKEY *key;

	memset(s, 0, sizeof(*s));
	s->at = named(host);
	struct inspect_inner inner = {.make = plain_new};
	s->stage = inspect_new(inside, roots, &s->at, &inner);
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

/* What the check of a server makes of one that wants a certificate of ours and gets none. */
static void proof(int version, struct authority *by, bool proven, const char *name)
{
	struct name at = named("api.test");
	struct stage_buf in = {0}, out = {0};
	struct scene s;
	bool ended = false;
	char buf[4096];
	int n, r = 0;

	scene_init(&s, "api.test", "api.test", by, "api.test");
	SSL_set_min_proto_version(s.server, version);
	SSL_set_max_proto_version(s.server, version);
	SSL_set_verify(s.server, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	struct channel *c = channel_connect(roots, &at, CHANNEL_NOTHING);
	channel_bind(c, &in, &out, &ended);
	for (int i = 0; i < 8 && r == 0; i++) {
		r = channel_shake(c);
		if (out.len)
			BIO_write(SSL_get_rbio(s.server), out.data + out.start, (int)out.len);
		stage_buf_done(&out);
		(void)SSL_do_handshake(s.server);
		while ((n = BIO_read(SSL_get_wbio(s.server), buf, sizeof(buf))) > 0)
			(void)stage_put(&in, buf, (size_t)n);
	}
	is_int(channel_is_proven(c), proven, name);
	channel_free(c);
	stage_buf_done(&in);
	stage_buf_done(&out);
	scene_done(&s);
}

static void proofs(void)
{
	proof(TLS1_2_VERSION, world, true, "1.2: it was who it should be, though we were not");
	proof(TLS1_3_VERSION, world, true, "1.3: the same");
	proof(TLS1_2_VERSION, other, false, "1.2: it was not");
	proof(TLS1_3_VERSION, other, false, "1.3: it was not");
}

/* Handshakes of the gate with servers that share what they know us by. */
struct known {
	SSL_CTX *ctx;
	struct channel_sessions *ours;
	bool was_good, was_resumed;
};

static void meet_again(struct known *k, const char *host, uint16_t port, const char *shown)
{
	struct name at = named(host), is = named(shown);
	struct stage_buf in = {0}, out = {0};
	struct stage_buf plain = {0};
	struct err e = ERR_INIT;
	bool ended = false, said = false, cut = false;
	X509 *cert;
	EVP_PKEY *key;
	char buf[4096];
	int n;

	SSL *server = new_end(k->ctx);
	if (authority_leaf(world, &is, &cert, &key, &e) < 0)
		abort();
	SSL_use_certificate(server, cert);
	SSL_use_PrivateKey(server, key);
	SSL_set_accept_state(server);
	struct channel *c = channel_connect(roots, &at, CHANNEL_HTTP1);
	channel_resume(c, k->ours, port);
	channel_bind(c, &in, &out, &ended);
	for (int i = 0; i < 6; i++) {
		if (channel_shake(c) > 0)
			(void)channel_take(c, &plain, &said, &cut); /* what it is known by */
		if (out.len)
			BIO_write(SSL_get_rbio(server), out.data + out.start, (int)out.len);
		stage_buf_done(&out);
		(void)SSL_do_handshake(server);
		while ((n = BIO_read(SSL_get_wbio(server), buf, sizeof(buf))) > 0)
			(void)stage_put(&in, buf, (size_t)n);
	}
	k->was_good = channel_is_proven(c) && channel_is_quiet(c);
	k->was_resumed = channel_is_resumed(c);
	channel_free(c);
	SSL_free(server);
	stage_buf_done(&in);
	stage_buf_done(&out);
	stage_buf_done(&plain);
}

static void known_again(void)
{
	struct known k = {SSL_CTX_new(TLS_server_method()), channel_sessions_new(), false, false};
	char host[32];

	meet_again(&k, "api.test", 443, "api.test");
	ok(k.was_good && !k.was_resumed, "a server that is new");
	meet_again(&k, "api.test", 443, "api.test");
	ok(k.was_good && k.was_resumed, "is known again");
	meet_again(&k, "api.test", 443, "other.test");
	ok(k.was_good && k.was_resumed, "without showing its certificate");
	meet_again(&k, "other.test", 443, "api.test");
	ok(!k.was_good, "another name has to be proved");
	meet_again(&k, "api.test", 8443, "api.test");
	ok(k.was_good && !k.was_resumed, "and so has another port");
	struct channel_sessions *theirs = channel_sessions_new(), *ours = k.ours;
	k.ours = theirs;
	meet_again(&k, "api.test", 443, "api.test");
	ok(k.was_good && !k.was_resumed, "another sandbox is not taken for this one");
	k.ours = ours;
	for (int i = 0; i < 40; i++) {
		snprintf(host, sizeof(host), "h%d.test", i);
		meet_again(&k, host, 443, host);
	}
	meet_again(&k, "api.test", 443, "api.test");
	ok(k.was_good && !k.was_resumed, "what is kept is bounded");
	SSL_CTX_set_max_proto_version(k.ctx, TLS1_2_VERSION);
	meet_again(&k, "old.test", 443, "old.test");
	meet_again(&k, "old.test", 443, "old.test");
	ok(k.was_good && !k.was_resumed, "TLS 1.2 begins anew each time");
	channel_sessions_free(theirs);
	channel_sessions_free(ours);
	SSL_CTX_free(k.ctx);
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

static bool is_believed(X509_STORE *store, struct authority *by)
{
	struct name at = named("a.test");
	struct err e = ERR_INIT;
	X509_STORE_CTX *c = X509_STORE_CTX_new();
	X509 *cert;
	EVP_PKEY *key;

	authority_leaf(by, &at, &cert, &key, &e);
	X509_STORE_CTX_init(c, store, cert, NULL);
	bool good = X509_verify_cert(c) == 1;
	X509_STORE_CTX_free(c);
	return good;
}

/* Certificates of authorities are parsed when a chain asks for them. */
static void anchors(void)
{
	char pem[4096], broken[4096];
	unsigned all = 0;
	X509_STORE *store = X509_STORE_new();

	snprintf(pem, sizeof(pem), "%s# words\n%s", authority_pem(other), authority_pem(world));
	struct roots *r = roots_new(pem, strlen(pem));
	ok(r && roots_add_to(r, store), "two authorities, and words between them");
	is_int(roots_parsed(r, &all), 0, "none is looked at before it is needed");
	is_int(all, 2, "of two");
	ok(is_believed(store, world), "one that is needed is found");
	is_int(roots_parsed(r, &all), 1, "and no other");
	ok(!is_believed(store, inside), "one that is not there is not");
	ok(is_believed(store, other) && is_believed(store, world), "nor forgotten");
	X509_STORE_free(store);
	roots_free(r);
	for (unsigned i = 0; i < 2000; i++) {
		snprintf(broken, sizeof(broken), "%s", authority_pem(world));
		broken[28 + i * 7919 % (strlen(broken) - 60)] = "AZaz09+/="[i % 9];
		store = X509_STORE_new();
		r = roots_new(broken, strlen(broken));
		if (r && roots_add_to(r, store) && is_believed(store, other))
			ok(false, "a broken one is believed by");
		X509_STORE_free(store);
		roots_free(r);
	}
	ok(true, "broken ones do no harm");
}

static void no_roots(void)
{
	struct channel_roots *r = NULL;
	struct err e = ERR_INIT;

	ok(channel_roots_new("nothing", 7, &r, &e) < 0 && !r, "without roots nobody is believed");
	ok(e.remedy[0], "and there is a remedy");
}

int main(void)
{
	open_all();
	TAP_RUN(talks);
	TAP_RUN(names);
	TAP_RUN(same_names);
	TAP_RUN(servers);
	TAP_RUN(proofs);
	TAP_RUN(known_again);
	TAP_RUN(old_client);
	TAP_RUN(endings);
	TAP_RUN(pressure);
	TAP_RUN(authorities);
	TAP_RUN(anchors);
	TAP_RUN(no_roots);
	close_all();
	return tap_done();
}
