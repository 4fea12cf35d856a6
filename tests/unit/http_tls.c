/* SPDX-License-Identifier: Apache-2.0 */
/* TLS, our side against OpenSSL's client, over a pair of sockets that do not block. */
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "http/tls.h"
#include "tap.h"

static char dir[64], cert[96], key[96], locked[96], other[96];

static void write_key(const char *path, EVP_PKEY *pkey, const char *passphrase)
{
	FILE *f = fopen(path, "w");

	if (!f || PEM_write_PrivateKey(f, pkey, passphrase ? EVP_aes_128_cbc() : NULL,
				       (const unsigned char *)passphrase,
				       passphrase ? (int)strlen(passphrase) : 0, NULL, NULL) != 1)
		abort();
	fclose(f);
}

static void write_cert(const char *path, EVP_PKEY *pkey)
{
	X509 *x = X509_new();
	FILE *f = fopen(path, "w");

	X509_set_version(x, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	X509_gmtime_adj(X509_getm_notBefore(x), -3600);
	X509_gmtime_adj(X509_getm_notAfter(x), 3600);
	X509_set_pubkey(x, pkey);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
				   (const unsigned char *)"a.test", -1, -1, 0);
	X509_set_issuer_name(x, X509_get_subject_name(x));
	if (!X509_sign(x, pkey, EVP_sha256()) || !f || PEM_write_X509(f, x) != 1)
		abort();
	fclose(f);
	X509_free(x);
}

static void make_files(void)
{
	EVP_PKEY *a = EVP_EC_gen("P-256"), *b = EVP_EC_gen("P-256");

	snprintf(dir, sizeof(dir), "/tmp/http_tls.XXXXXX");
	if (!mkdtemp(dir))
		abort();
	snprintf(cert, sizeof(cert), "%s/cert", dir);
	snprintf(key, sizeof(key), "%s/key", dir);
	snprintf(locked, sizeof(locked), "%s/locked", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	write_cert(cert, a);
	write_key(key, a, NULL);
	write_key(locked, a, "secret");
	write_key(other, b, NULL);
	EVP_PKEY_free(a);
	EVP_PKEY_free(b);
}

static void remove_files(void)
{
	unlink(cert);
	unlink(key);
	unlink(locked);
	unlink(other);
	rmdir(dir);
}

static int server_of(const char *cert_path, const char *key_path, struct tls_server **ret,
		     struct err *e)
{
	int cert_fd = open(cert_path, O_RDONLY | O_CLOEXEC);
	int key_fd = open(key_path, O_RDONLY | O_CLOEXEC);
	int r = tls_server_new(cert_fd, key_fd, ret, e);

	close(cert_fd);
	close(key_fd);
	return r;
}

/* Both ends of one connection. */
struct pair {
	struct tls_server *server;
	struct tls *tls;
	SSL_CTX *ctx;
	SSL *client;
	int fds[2];
};

static void pair_init(struct pair *p, int version, const char *protocols)
{
	struct err e = ERR_INIT;

	memset(p, 0, sizeof(*p));
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, p->fds) < 0 ||
	    server_of(cert, key, &p->server, &e) < 0 ||
	    tls_new(p->server, p->fds[0], &p->tls, &e) < 0)
		diag("%s", e.text);
	p->ctx = SSL_CTX_new(TLS_client_method());
	SSL_CTX_set_security_level(p->ctx, 0);
	SSL_CTX_set_min_proto_version(p->ctx, version);
	SSL_CTX_set_max_proto_version(p->ctx, version);
	if (protocols)
		SSL_CTX_set_alpn_protos(p->ctx, (const unsigned char *)protocols,
					(unsigned)strlen(protocols));
	p->client = SSL_new(p->ctx);
	SSL_set_fd(p->client, p->fds[1]);
	SSL_set_connect_state(p->client);
}

static void pair_done(struct pair *p)
{
	tls_end(p->tls);
	tls_server_free(p->server);
	SSL_free(p->client);
	SSL_CTX_free(p->ctx);
	close(p->fds[0]);
	if (p->fds[1] >= 0)
		close(p->fds[1]);
}

/* Take turns until the server is done or fails, and the client after it. */
static int shake(struct pair *p)
{
	int r = TLS_WANT_READ;

	for (int i = 0; i < 20 && (r == TLS_WANT_READ || r == TLS_WANT_WRITE); i++) {
		(void)SSL_do_handshake(p->client);
		r = tls_handshake(p->tls);
	}
	(void)SSL_do_handshake(p->client);
	return r;
}

static int version_of(int version)
{
	struct pair p;

	pair_init(&p, version, NULL);
	int r = shake(&p);
	if (r == 0)
		diag("%s", tls_version(p.tls));
	pair_done(&p);
	return r;
}

static void versions(void)
{
	is_int(version_of(TLS1_3_VERSION), 0, "TLS 1.3");
	is_int(version_of(TLS1_2_VERSION), 0, "TLS 1.2");
	is_int(version_of(TLS1_1_VERSION), -EPROTO, "TLS 1.1 is refused");
	is_int(version_of(TLS1_VERSION), -EPROTO, "TLS 1.0 is refused");
}

static void protocols(void)
{
	const unsigned char *chosen = NULL;
	unsigned len = 0;
	struct pair p;

	pair_init(&p, TLS1_3_VERSION, "\x02h2\x08http/1.1");
	is_int(shake(&p), 0, "h2 or http/1.1");
	SSL_get0_alpn_selected(p.client, &chosen, &len);
	ok(len == 8 && memcmp(chosen, "http/1.1", 8) == 0, "it is http/1.1");
	pair_done(&p);
	pair_init(&p, TLS1_3_VERSION, "\x02h2");
	is_int(shake(&p), -EPROTO, "h2 alone is refused");
	pair_done(&p);
}

static void data(void)
{
	static char out[1 << 20], in[1 << 20];
	size_t sent = 0, got = 0;
	bool had_to_wait = false;
	struct pair p;
	char c;

	pair_init(&p, TLS1_3_VERSION, NULL);
	is_int(shake(&p), 0, "handshake");
	is_int((int)tls_read(p.tls, &c, 1), TLS_WANT_READ, "nothing to read yet");
	is_int(SSL_write(p.client, "ab", 2), 2, "the client writes two bytes");
	is_int((int)tls_read(p.tls, &c, 1), 1, "one is read");
	is_int((int)tls_pending(p.tls), 1, "one waits, of which the socket knows nothing");
	is_int((int)tls_read(p.tls, &c, 1), 1, "and is read");
	for (size_t i = 0; i < sizeof(out); i++)
		out[i] = (char)(i * 7 + (i >> 8));
	while (got < sizeof(in)) {
		ssize_t n =
			sent < sizeof(out) ? tls_write(p.tls, out + sent, sizeof(out) - sent) : 0;

		had_to_wait |= n == TLS_WANT_WRITE;
		if (n > 0)
			sent += (size_t)n;
		else if (n != TLS_WANT_WRITE && sent < sizeof(out))
			break;
		int m = n > 0 ? 0 : SSL_read(p.client, in + got, (int)(sizeof(in) - got));
		got += m > 0 ? (size_t)m : 0;
	}
	ok(got == sizeof(in) && memcmp(in, out, sizeof(in)) == 0, "a megabyte, whole");
	ok(had_to_wait, "with waiting for the socket");
	pair_done(&p);
}

static void endings(void)
{
	struct pair p;
	char c;

	pair_init(&p, TLS1_3_VERSION, NULL);
	is_int(shake(&p), 0, "handshake");
	(void)SSL_shutdown(p.client);
	is_int((int)tls_read(p.tls, &c, 1), 0, "the client says that it is done");
	is_int(tls_close(p.tls), 0, "so do we");
	pair_done(&p);

	pair_init(&p, TLS1_3_VERSION, NULL);
	is_int(shake(&p), 0, "handshake");
	close(p.fds[1]);
	p.fds[1] = -1;
	is_int((int)tls_read(p.tls, &c, 1), -ECONNRESET, "bytes that are cut off are no end");
	is_int((int)tls_read(p.tls, &c, 1), -ECONNRESET, "it stays so");
	is_int((int)tls_write(p.tls, "x", 1), -ECONNRESET, "for writing, too");
	ok(tls_why(p.tls)[0], "and says why");
	pair_done(&p);
}

static void foreign(const char *bytes, size_t len, const char *name)
{
	struct pair p;
	int r;

	pair_init(&p, TLS1_3_VERSION, NULL);
	if (write(p.fds[1], bytes, len) != (ssize_t)len)
		diag("write: %s", strerror(errno));
	r = tls_handshake(p.tls);
	is_int(r, -EPROTO, name);
	is_int(tls_handshake(p.tls), -EPROTO, "for good");
	is_int((int)tls_close(p.tls), -EPROTO, "nothing more is said");
	pair_done(&p);
}

static void no_tls(void)
{
	static const char sslv2[48] = "\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10";
	struct pair p;

	foreign(sslv2, sizeof(sslv2), "SSLv2");
	foreign("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", 32, "HTTP without TLS");
	foreign("\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", 10, "a hello that is cut off");
	foreign("\x17\x03\x03\x00\x01\x00", 6, "data before a handshake");
	foreign("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11, "noise");
	pair_init(&p, TLS1_3_VERSION, NULL);
	is_int(tls_handshake(p.tls), TLS_WANT_READ, "silence is waited for");
	close(p.fds[1]);
	p.fds[1] = -1;
	is_int(tls_handshake(p.tls), -ECONNRESET, "until it ends");
	pair_done(&p);
}

static void fails(const char *cert_path, const char *key_path, const char *says, const char *name)
{
	struct tls_server *s = NULL;
	struct err e = ERR_INIT;

	ok(server_of(cert_path, key_path, &s, &e) < 0 && !s && e.kind == ERR_INVALID, name);
	has_str(e.text, says, "says which file");
	ok(e.remedy[0], "and what to give");
}

static void files(void)
{
	fails(key, key, "certificate", "a key for a certificate");
	fails(cert, cert, "key", "a certificate for a key");
	fails(cert, other, "not the certificate's", "somebody else's key");
	fails(cert, locked, "key", "a key with a passphrase: nobody is asked");
	fails("/dev/null", key, "certificate", "an empty certificate");
	fails(cert, "/dev/zero", "more than", "a key without end");
}

int main(void)
{
	(void)sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	make_files();
	TAP_RUN(versions);
	TAP_RUN(protocols);
	TAP_RUN(data);
	TAP_RUN(endings);
	TAP_RUN(no_tls);
	TAP_RUN(files);
	remove_files();
	return tap_done();
}
