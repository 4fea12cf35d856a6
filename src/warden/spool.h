/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last bytes that a command printed, in the order they came, for whoever asks later. A ring of
 * records; places in it are counted from the first byte ever put there, so that a reader who was too
 * slow can tell that he was.
 */
#ifndef WARDEN_SPOOL_H
#define WARDEN_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#define SPOOL_MAX (1u << 20)
#define SPOOL_ALL_MAX (128u << 20) /* of all together; each has some tens of KiB even so */
#define SPOOL_RECORD_MAX 16384u

struct spool {
	char *data;	     /* NULL: nothing was printed */
	size_t cap;	     /* a power of two */
	uint64_t begin, end; /* places of the first record and behind the last */
	uint64_t total;	     /* bytes of output there ever were, */
	uint64_t lost;	     /* and how many of them are not here any more */
};

struct spool_record {
	uint32_t len;
	uint32_t stream;
	uint64_t at_ms;
	uint64_t before; /* bytes of output that came before it, kept or not */
};

/* Keep it; what is oldest goes. Without memory it is counted as lost. */
void spool_add(struct spool *s, unsigned stream, uint64_t at_ms, const void *data, size_t len);
/* The record at *pos (or the first that is still there) and its bytes; *pos moves behind it. 0: none. */
int spool_next(const struct spool *s, uint64_t *pos, struct spool_record *ret,
	       char data[SPOOL_RECORD_MAX]);
void spool_done(struct spool *s);

#endif
