/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pinfold-tls: a program of its own that ends TLS before the API. It is started with
 *
 *	2	standard error
 *	3	control: a SOCK_SEQPACKET socket to who started it
 *	4	the door of the API (api/door.h)
 *	5 ...	listening TCP sockets
 *
 * and takes one kind of message: an empty struct tls_files with two descriptors, of the certificate
 * and of its key. Each is answered by a struct tls_answer. The first one makes it serve; each later
 * one is for connections from then on, and when it is refused the former stays. SIGTERM: no new
 * connection, and the end with the last.
 */
#ifndef TLS_PROGRAM_H
#define TLS_PROGRAM_H

#include <stdint.h>

#include "base/err.h"

#define TLS_CONTROL 3
#define TLS_DOOR 4
#define TLS_LISTEN 5
#define TLS_LISTEN_MAX 7u

struct tls_files {
	uint32_t zero;
};

struct tls_answer {
	int32_t result; /* 0, or a negative errno and `e` */
	struct err e;
};

/* The program, for execveat(). */
extern const unsigned char tls_image[], tls_image_end[];

#endif
