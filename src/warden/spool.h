/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command printed on both streams, in the order in which it came, for whoever asks later:
 * the first bytes, which stay, and the last ones, of which the oldest go. A place is counted from
 * the first byte ever printed, so that anybody can say where he was, and tell what he missed.
 *
 * Both parts grow as they are filled. All spools together have a maximum; one that wants to grow
 * then takes half of the largest, if that leaves it no smaller than itself.
 */
#ifndef WARDEN_SPOOL_H
#define WARDEN_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#define SPOOL_HEAD (64u << 10)	   /* the first bytes, */
#define SPOOL_MAX (8u << 20)	   /* and the last */
#define SPOOL_ALL_MAX (128u << 20) /* of all together; each has a few KiB even so */

struct spool_ring {
	char *data;	     /* the byte at a place is at the same place, modulo cap */
	size_t cap;	     /* a power of two, 0: nothing yet */
	uint64_t begin, end; /* places */
	/* Where each stretch of one stream begins: place * 2 + stream - 1. A ring, too. */
	uint64_t *runs;
	size_t runs_cap, first_run, n_runs;
};

struct spool {
	struct spool_ring head, tail;
	int head_is_full;
	uint64_t total;		   /* bytes there ever were */
	struct spool *prev, *next; /* all that hold something */
};

/* Keep it; of the last bytes the oldest go. Without memory it is only counted. Stream: 1 or 2. */
void spool_add(struct spool *s, unsigned stream, const void *data, size_t len);
/* Bytes of one stream from *pos on, or from the first behind it that is still there, to which *pos
 * is moved. Returns how many, at most `max`; 0: there are none. */
size_t spool_get(const struct spool *s, uint64_t *pos, unsigned *ret_stream, char *data,
		 size_t max);
/* From here on all of it is there; before that, only the head. */
uint64_t spool_from(const struct spool *s);
/* Bytes that all spools hold. */
size_t spool_all(void);
void spool_done(struct spool *s);

#endif
