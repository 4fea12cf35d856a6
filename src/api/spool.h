/* SPDX-License-Identifier: Apache-2.0 */
/* What something printed: the first SPOOL_MAX bytes, in memory while they are few, else in a file
 * without a name. One thread writes; others may read. */
#ifndef API_SPOOL_H
#define API_SPOOL_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define SPOOL_MAX (64u << 20)

struct spool {
	pthread_mutex_t lock;
	char *memory;
	size_t room;
	int fd;
	uint64_t kept;	/* bytes that can be read */
	uint64_t total; /* bytes that came */
};

void spool_init(struct spool *s);
void spool_done(struct spool *s);
void spool_add(struct spool *s, const void *data, size_t len);
/* Bytes from `offset`, at most `max`. How many; 0: none there. */
size_t spool_read(struct spool *s, uint64_t offset, void *to, size_t max);
uint64_t spool_size(struct spool *s, uint64_t *ret_total);
/* A descriptor of its own for all of it, to be sent as a file. -errno. */
int spool_fd(struct spool *s);

/* A file that has no name. */
int spool_open_file(void);

#endif
