/* SPDX-License-Identifier: Apache-2.0 */
/* The host side's end of the control socket. */
#include "warden/control.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/fd.h"

static bool takes_fd(uint32_t kind)
{
	return kind == MSG_STARTED || kind == MSG_FORK || kind == MSG_TERMINAL ||
	       kind == MSG_FILE || kind == MSG_READY;
}

/* At most one descriptor; more are closed, whoever sent them. */
static int take_descriptor(struct msghdr *hdr)
{
	int fd = FD_NONE;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(hdr); c; c = CMSG_NXTHDR(hdr, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int got;

			memcpy(&got, CMSG_DATA(c) + i * sizeof(int), sizeof(got));
			if (fd < 0)
				fd = got;
			else
				close(got);
		}
	}
	return fd;
}

int control_receive(int control, struct control_event *ret, struct err *e)
{
	struct iovec iov[2] = {{.iov_base = &ret->msg, .iov_len = sizeof(ret->msg)},
			       {.iov_base = ret->name, .iov_len = MSG_NAME_MAX}};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(4 * sizeof(int))];
	} control_room;
	struct msghdr hdr = {.msg_iov = iov,
			     .msg_iovlen = 2,
			     .msg_control = &control_room,
			     .msg_controllen = sizeof(control_room)};
	ssize_t n;

	ret->fd = FD_NONE;
	/* ECONNRESET, once, when the guest ended before it read all of ours: its own words are
	 * still in the socket. */
	do
		n = recvmsg(control, &hdr, MSG_CMSG_CLOEXEC);
	while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n < 0 && errno == EAGAIN)
		return -EAGAIN;
	if (n <= 0) {
		(void)err_set(e, ERR_INTERNAL, "the guest ended unexpectedly");
		return -EPIPE;
	}
	ret->fd = take_descriptor(&hdr);
	if ((size_t)n < sizeof(ret->msg) || ret->msg.len != (size_t)n - sizeof(ret->msg) ||
	    (hdr.msg_flags & MSG_TRUNC)) {
		fd_close(&ret->fd);
		return err_set(e, ERR_INTERNAL, "malformed message from the guest");
	}
	ret->name[ret->msg.len] = '\0';
	if (!takes_fd(ret->msg.kind))
		fd_close(&ret->fd);
	return 0;
}

void control_send(int control, uint32_t kind, int arg)
{
	struct msg_host msg = {.kind = kind, .arg = arg};

	(void)send(control, &msg, sizeof(msg), MSG_NOSIGNAL | MSG_DONTWAIT);
}
