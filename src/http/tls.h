/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's side of TLS on a socket that does not block. The only file here with I/O, and the
 * only one of the project that sees OpenSSL's ssl.h.
 *
 * TLS 1.2 with ephemeral keys and authenticated ciphers, or 1.3; no renegotiation, compression,
 * sessions to resume or early data, so nothing that is sent twice counts twice. A client that names
 * protocols must name http/1.1.
 *
 * The process must ignore SIGPIPE.
 */
#ifndef HTTP_TLS_H
#define HTTP_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct tls_server; /* certificate and key; may be used by any number of connections */
struct tls;	   /* one connection */

/* Not yet: call again, with the same arguments, when the socket can be read or written. Outside of
 * what an errno can be. */
#define TLS_WANT_READ (-100001)
#define TLS_WANT_WRITE (-100002)

/* From PEM files that are open: the certificate with those of its issuers behind it, and its key
 * without a passphrase. Both are read now, from their beginning; a new one is made to read them
 * again. */
int tls_server_new(int cert_fd, int key_fd, struct tls_server **ret, struct err *e);
void tls_server_free(struct tls_server *s);

/* `fd` is borrowed and is closed by who opened it, after tls_end(). */
int tls_new(struct tls_server *s, int fd, struct tls **ret, struct err *e);
void tls_end(struct tls *t);

/*
 * All return TLS_WANT_* as above, or a negative errno after which the connection is of no use:
 * -EPROTO for what is no TLS or none that we speak (tls_why() says what), -ECONNRESET when it ended
 * without saying so, which cannot be told from bytes that somebody cut off.
 */
/* 0: done. tls_read() and tls_write() do it, too, but here its time can be limited. */
int tls_handshake(struct tls *t);
/* Bytes read; 0: the other side said that it sends no more. */
ssize_t tls_read(struct tls *t, void *buf, size_t size);
/* Bytes written, at least one of `len` > 0. */
ssize_t tls_write(struct tls *t, const void *buf, size_t len);
/* Say that we send no more. 0: said. */
int tls_close(struct tls *t);

/* Bytes that were decrypted and wait: the socket will not tell of them. */
size_t tls_pending(const struct tls *t);
/* What went wrong last, for a log; never NULL. */
const char *tls_why(const struct tls *t);
/* "TLSv1.3" */
const char *tls_version(const struct tls *t);

#endif
