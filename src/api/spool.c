/* SPDX-License-Identifier: Apache-2.0 */
#include "api/spool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/fd.h"

#define MEMORY_MAX (64u << 10)

void spool_init(struct spool *s)
{
	*s = (struct spool){.fd = FD_NONE};
	(void)pthread_mutex_init(&s->lock, NULL);
}

void spool_done(struct spool *s)
{
	free(s->memory);
	fd_close(&s->fd);
	(void)pthread_mutex_destroy(&s->lock);
}

/* A file in /tmp costs disk, not memory; where there is none to write to, memory it is. */
int spool_open_file(void)
{
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd >= 0 ? fd : memfd_create("pinfold-output", MFD_CLOEXEC);
}

static int to_file(struct spool *s)
{
	auto_close int fd = spool_open_file();

	if (fd < 0 || fd_write_all(fd, s->memory, (size_t)s->kept) < 0)
		return -EIO;
	free(s->memory);
	s->memory = NULL;
	s->room = 0;
	s->fd = take_fd(&fd);
	return 0;
}

static int keep(struct spool *s, const char *data, size_t len)
{
	if (s->fd < 0 && s->kept + len > MEMORY_MAX && to_file(s) < 0)
		return -EIO;
	if (s->fd >= 0)
		return pwrite(s->fd, data, len, (off_t)s->kept) == (ssize_t)len ? 0 : -EIO;
	if (s->kept + len > s->room) {
		size_t room = s->kept + len < 4096 ? 4096 : MEMORY_MAX;
		char *more = realloc(s->memory, room);

		if (!more)
			return -ENOMEM;
		s->memory = more;
		s->room = room;
	}
	memcpy(s->memory + s->kept, data, len);
	return 0;
}

void spool_add(struct spool *s, const void *data, size_t len)
{
	(void)pthread_mutex_lock(&s->lock);
	/* A gap would be worse than an end: after the first byte that is lost nothing is kept. */
	size_t fits = s->kept < s->total	  ? 0
		      : SPOOL_MAX - s->kept < len ? SPOOL_MAX - s->kept
						  : len;

	if (fits && keep(s, data, fits) == 0)
		s->kept += fits;
	s->total += len;
	(void)pthread_mutex_unlock(&s->lock);
}

size_t spool_read(struct spool *s, uint64_t offset, void *to, size_t max)
{
	size_t n = 0;

	(void)pthread_mutex_lock(&s->lock);
	if (offset < s->kept) {
		n = s->kept - offset < max ? (size_t)(s->kept - offset) : max;
		if (s->fd < 0) {
			memcpy(to, s->memory + offset, n);
		} else {
			ssize_t r = pread(s->fd, to, n, (off_t)offset);

			n = r > 0 ? (size_t)r : 0;
		}
	}
	(void)pthread_mutex_unlock(&s->lock);
	return n;
}

uint64_t spool_size(struct spool *s, uint64_t *ret_total)
{
	(void)pthread_mutex_lock(&s->lock);
	uint64_t kept = s->kept;
	if (ret_total)
		*ret_total = s->total;
	(void)pthread_mutex_unlock(&s->lock);
	return kept;
}

int spool_fd(struct spool *s)
{
	(void)pthread_mutex_lock(&s->lock);
	int r = s->fd >= 0 || to_file(s) == 0 ? fcntl(s->fd, F_DUPFD_CLOEXEC, 0) : -EIO;
	(void)pthread_mutex_unlock(&s->lock);
	return r;
}
