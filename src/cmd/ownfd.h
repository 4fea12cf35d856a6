/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A descriptor of the caller, read or written without ever blocking and without changing it.
 *
 * O_NONBLOCK belongs to the open file description, which the caller's other processes share: a
 * shell whose standard input became non-blocking ends. So pipes and terminals are opened once more
 * through /proc/self/fd, sockets get MSG_DONTWAIT, and where neither works (a pipe of another user)
 * each small write waits for poll() to allow it. Regular files keep the caller's description,
 * because a second one would have an offset of its own.
 */
#ifndef CMD_OWNFD_H
#define CMD_OWNFD_H

#include <stdbool.h>
#include <sys/types.h>

enum ownfd_kind {
	OWNFD_PLAIN,	/* does not block for long: files, /dev/null */
	OWNFD_NONBLOCK, /* a description of our own */
	OWNFD_SOCKET,
	OWNFD_POLLED,
};

struct ownfd {
	int fd; /* to poll */
	enum ownfd_kind kind;
	bool owned;
	bool tty;
};

/* mode is O_RDONLY or O_WRONLY. Borrows fd until ownfd_close(). */
struct ownfd ownfd_open(int fd, int mode);
void ownfd_close(struct ownfd *o);

/* Like read and write, but -1 with EAGAIN instead of waiting. */
ssize_t ownfd_read(const struct ownfd *o, void *data, size_t len);
ssize_t ownfd_write(const struct ownfd *o, const void *data, size_t len);

#endif
