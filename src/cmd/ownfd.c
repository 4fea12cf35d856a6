/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/ownfd.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

/* A terminal that poll() calls writable has room for at least this much. */
#define TTY_ROOM 256

static int reopen(int fd, int mode)
{
	char path[64];
	int old = fcntl(fd, F_GETFL);

	if (old < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, mode | (old & O_APPEND) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* Opening the master side of a terminal again would make a new terminal. */
static bool is_master(int fd)
{
	unsigned number = 0;

	return ioctl(fd, TIOCGPTN, &number) == 0;
}

struct ownfd ownfd_open(int fd, int mode)
{
	struct ownfd o = {.fd = fd, .kind = OWNFD_POLLED};
	struct stat st;

	assert(mode == O_RDONLY || mode == O_WRONLY);
	if (fstat(fd, &st) < 0)
		return o;
	o.tty = S_ISCHR(st.st_mode) && isatty(fd);
	if (S_ISSOCK(st.st_mode))
		o.kind = OWNFD_SOCKET;
	else if (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode) || (S_ISCHR(st.st_mode) && !o.tty))
		o.kind = OWNFD_PLAIN;
	else if (S_ISFIFO(st.st_mode) || (o.tty && !is_master(fd))) {
		int own = reopen(fd, mode);

		if (own >= 0)
			o = (struct ownfd){
				.fd = own, .kind = OWNFD_NONBLOCK, .owned = true, .tty = o.tty};
	}
	return o;
}

void ownfd_close(struct ownfd *o)
{
	if (o->owned)
		fd_close(&o->fd);
	o->fd = FD_NONE;
	o->owned = false;
}

static bool ready(const struct ownfd *o, short events)
{
	struct pollfd p = {.fd = o->fd, .events = events};

	if (poll(&p, 1, 0) > 0)
		return true;
	errno = EAGAIN;
	return false;
}

ssize_t ownfd_read(const struct ownfd *o, void *data, size_t len)
{
	if (o->kind == OWNFD_SOCKET)
		return recv(o->fd, data, len, MSG_DONTWAIT);
	if (o->kind == OWNFD_POLLED && !ready(o, POLLIN))
		return -1;
	return read(o->fd, data, len);
}

ssize_t ownfd_write(const struct ownfd *o, const void *data, size_t len)
{
	size_t room = o->tty ? TTY_ROOM : PIPE_BUF;

	if (o->kind == OWNFD_SOCKET)
		return send(o->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (o->kind == OWNFD_POLLED) {
		if (!ready(o, POLLOUT))
			return -1;
		len = len < room ? len : room;
	}
	return write(o->fd, data, len);
}
