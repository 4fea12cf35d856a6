/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the watcher (cmd/http.c) that has TLS ended: it opens certificate and key, starts
 * pinfold-tls and hands copies of them over. The last ones that were good are kept, so that a
 * program that died is started again with what it had, whatever became of the files.
 */
#ifndef CMD_TLS_H
#define CMD_TLS_H

#include <sys/types.h>

#include "base/err.h"
#include "tls/program.h"

struct tls_side {
	const char *cert_path, *key_path; /* NULL: no TLS */
	int cert, key;			  /* copies */
	int control;
	int door[2]; /* the API's end, which is one of its listeners, and the program's */
	int listen[TLS_LISTEN_MAX];
	unsigned n_listen;
	pid_t pid; /* 0: not running */
};

#define TLS_SIDE_INIT                                                                              \
	{                                                                                          \
		.cert = FD_NONE, .key = FD_NONE, .control = FD_NONE, .door = { FD_NONE, FD_NONE }  \
	}

/* Open both files, look whether others could read the key, make the door. */
int tls_open(struct tls_side *t, struct err *e);
/* Start the program with the files that are open, and wait until it serves or says why not. */
int tls_start(struct tls_side *t, struct err *e);
/* Read the files anew. When that fails the former stay. */
int tls_renew(struct tls_side *t, struct err *e);
/* Close all but the API's end of the door: in who has nothing to do with it. */
void tls_forget(struct tls_side *t);

#endif
