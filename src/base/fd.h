/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors and heap pointers that clean up after themselves. An empty descriptor is -EBADF. */
#ifndef BASE_FD_H
#define BASE_FD_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#define FD_NONE (-EBADF)

static inline void fd_close(int *fd)
{
	if (*fd >= 0) {
		int saved = errno;

		close(*fd);
		errno = saved;
	}
	*fd = FD_NONE;
}

static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = FD_NONE;
	return taken;
}

static inline void free_ptr(void *p)
{
	free(*(void **)p);
	*(void **)p = NULL;
}

static inline void *take_ptr_any(void *p)
{
	void *taken = *(void **)p;

	*(void **)p = NULL;
	return taken;
}

#define auto_close __attribute__((cleanup(fd_close)))
#define auto_free __attribute__((cleanup(free_ptr)))
#define take_ptr(p) ((__typeof__(*(p)))take_ptr_any(p))

/* Write all of it, waiting where the descriptor would block. 0 or -errno. */
int fd_write_all(int fd, const void *data, size_t len);
/* The same at an offset of a file. errno says the same. */
int fd_pwrite_all(int fd, const void *data, size_t len, uint64_t at);
/* Read until end of file or `max` bytes; *ret_len says how many. 0 or -errno. */
int fd_read_max(int fd, void *data, size_t max, size_t *ret_len);

#endif
