/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/file.h"

#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "tree/path.h"

#define FILE_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

int tree_file_open(int dirfd, const char *name, struct stat *st, int *ret_fd, struct err *e)
{
	auto_close int fd = openat(dirfd, name, FILE_FLAGS);
	struct tree_shown s;
	struct stat now;

	if (fd < 0 && (errno == ENOENT || errno == ELOOP || errno == ENXIO))
		errno = ESTALE;
	if (fd < 0 || fstat(fd, &now) < 0)
		return err_sys(e, "open %s", tree_show(&s, name, strlen(name)));
	if (!S_ISREG(now.st_mode) || now.st_dev != st->st_dev || now.st_ino != st->st_ino) {
		errno = ESTALE;
		return err_sys(e, "open %s", tree_show(&s, name, strlen(name)));
	}
	*st = now;
	*ret_fd = take_fd(&fd);
	return 0;
}

int tree_file_extent(int fd, uint64_t from, uint64_t size, uint64_t *ret_start, uint64_t *ret_end)
{
	if (from >= size)
		return 0;
	off_t start = lseek(fd, (off_t)from, SEEK_DATA);
	if (start < 0 && errno == ENXIO)
		return 0;
	if (start < 0 || (uint64_t)start < from)
		start = (off_t)from;
	if ((uint64_t)start >= size)
		return 0;
	off_t end = lseek(fd, start, SEEK_HOLE);
	if (end <= start || (uint64_t)end > size)
		end = (off_t)size;
	*ret_start = (uint64_t)start;
	*ret_end = (uint64_t)end;
	return 1;
}

ssize_t tree_file_read(int fd, void *buf, size_t len, uint64_t offset)
{
	char *p = buf;
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, p + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}
