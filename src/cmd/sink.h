/* SPDX-License-Identifier: Apache-2.0 */
/* Where output goes: written at once as far as the reader takes it, the rest kept in a bounded
 * buffer. Never blocks below SINK_MAX; the one who fills it stops filling at SINK_HIGH. */
#ifndef CMD_SINK_H
#define CMD_SINK_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/ownfd.h"

#define SINK_HIGH ((size_t)128 << 10) /* no more is asked for from here on */
#define SINK_LOW ((size_t)32 << 10)   /* and again from here down */
#define SINK_MAX ((size_t)4 << 20)    /* room for what the library had read before it was told */

struct sink {
	struct ownfd out;
	char *buf; /* made when the reader is slow for the first time */
	size_t off, len;
	bool mid_line; /* the last byte was not a newline */
	bool dropped;  /* nobody can read it: what comes is thrown away */
	int error;     /* errno when output was lost for another reason than a closed pipe */
};

void sink_init(struct sink *k, int fd);
void sink_put(struct sink *k, const void *data, size_t len);
/* Write what is kept, as far as it goes. */
void sink_flush(struct sink *k);
/* Throw away what is kept and what will come. */
void sink_drop(struct sink *k);
void sink_done(struct sink *k);

static inline size_t sink_pending(const struct sink *k)
{
	return k->len;
}

#endif
