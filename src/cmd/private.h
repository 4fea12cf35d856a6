/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A daemon that is this process's own: a child, with a socket in a private directory that nobody
 * else knows. It ends when private_stop() is called and when this process ends, however it does;
 * the child itself removes the directory then.
 */
#ifndef CMD_PRIVATE_H
#define CMD_PRIVATE_H

#include <sys/types.h>

#include "base/err.h"
#include "base/fd.h"

struct pinfold_serve_options;

struct private_daemon {
	pid_t pid;
	int log; /* what it says */
	char dir[96];
	char said[512]; /* so far, before it serves */
	size_t said_len;
};

#define PRIVATE_INIT                                                                               \
	{                                                                                          \
		.log = FD_NONE                                                                     \
	}

/* Returns once it serves, with $PINFOLD_SOCKET set to its socket. SIGINT, SIGTERM and SIGHUP have
 * to be blocked: the child takes them over as they are. */
int private_start(struct private_daemon *d, struct err *e);
/* The same in two halves, for who has something else to do meanwhile: begin it, in a process that
 * has one thread (options: but for the socket; NULL: the defaults); then, whenever d->log is
 * readable, look: 1, it serves; 0, not yet. */
int private_begin(struct private_daemon *d, const struct pinfold_serve_options *options,
		  struct err *e);
int private_look(struct private_daemon *d, struct err *e);
/* Takes one that never started, too. */
void private_stop(struct private_daemon *d);

#endif
