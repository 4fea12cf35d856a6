/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fd.h"

#include <poll.h>

int fd_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);
		if (n < 0 && errno == EAGAIN) {
			struct pollfd pfd = {.fd = fd, .events = POLLOUT};
			(void)poll(&pfd, 1, -1); /* the next write tells */
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int fd_pwrite_all(int fd, const void *data, size_t len, uint64_t at)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = pwrite(fd, p, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = EIO;
		if (n <= 0)
			return -errno;
		p += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int fd_read_max(int fd, void *data, size_t max, size_t *ret_len)
{
	char *p = data;
	size_t len = 0;

	while (len < max) {
		ssize_t n = read(fd, p + len, max - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	*ret_len = len;
	return 0;
}
