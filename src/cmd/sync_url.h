/* SPDX-License-Identifier: Apache-2.0 */
/* push and pull with a workspace of a daemon elsewhere: the way there, over HTTP. */
#ifndef CMD_SYNC_URL_H
#define CMD_SYNC_URL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct sync_url {
	const char *url;	/* http://HOST:PORT, or unix:PATH */
	const char *token_file; /* NULL: none */
	const char *name, *to;	/* the workspace; path inside or NULL */
	const char *key;
	bool push, mirror;
};

/* A stream on which both sides can begin. What the daemon refuses is an error here. */
int sync_url_open(const struct sync_url *u, int *ret_fd, struct err *e);
/* What it says behind the last message: its document, malloced. */
int sync_url_end(int fd, char **ret_text, size_t *ret_len, struct err *e);

#endif
