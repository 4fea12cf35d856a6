/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's standard input on its way into the sandbox. No more is read than the command takes,
 * but for one buffer, so an endless input costs nothing and what follows is left to others. */
#ifndef CMD_FEED_H
#define CMD_FEED_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/ownfd.h"

#define FEED_MAX ((size_t)64 << 10)

struct feed {
	struct ownfd in;
	char *buf;
	size_t off, len;
	bool ended; /* nothing more will be read */
};

/* fd < 0: an empty input. Borrows fd until feed_done(). */
void feed_init(struct feed *f, int fd);
/* Whether there is room for more input and it may be read now. */
bool feed_wants_input(const struct feed *f);
/* A terminal that another job holds must not be read, which would stop us; ask again later. */
bool feed_in_background(const struct feed *f);
/* Read what is there. */
void feed_read(struct feed *f);
/* Write to the command what it takes. False when all is written and nothing more will come, or
 * nobody reads it: then the command's standard input is to be closed. */
bool feed_write(struct feed *f, int to_fd);
void feed_done(struct feed *f);

#endif
