/* SPDX-License-Identifier: Apache-2.0 */
#include "base/passfd.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/discard.h"
#include "base/fd.h"

union room {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(PASSFD_MAX * sizeof(int))];
};

int passfd_send(int sock, const void *data, size_t len, const int *fds, unsigned n_fds)
{
	struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = len};
	struct msghdr hdr = {.msg_iov = &iov, .msg_iovlen = 1};
	union room room = {.head = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	unsigned n = 0;
	ssize_t r;

	assert(n_fds <= PASSFD_MAX);
	while (n < n_fds && fds[n] >= 0)
		n++;
	if (n > 0) {
		room.head.cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(&room.head), fds, n * sizeof(int));
		hdr.msg_control = &room;
		hdr.msg_controllen = CMSG_SPACE(n * sizeof(int));
	}
	do
		r = sendmsg(sock, &hdr, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : 0;
}

/* All of them, whatever we expected: what is not taken would stay open. */
static unsigned take_all(struct msghdr *hdr, int got[PASSFD_MAX + 1])
{
	unsigned n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(hdr); c; c = CMSG_NXTHDR(hdr, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < count && n < PASSFD_MAX + 1; i++)
			memcpy(&got[n++], CMSG_DATA(c) + i * sizeof(int), sizeof(int));
	}
	return n;
}

int passfd_receive_max(int sock, void *data, size_t max, size_t *ret_len, int *fds,
		       unsigned max_fds, int flags)
{
	struct iovec iov = {.iov_base = data, .iov_len = max};
	union room room;
	/* What there is no room for the kernel drops, without a word to its file system. */
	struct msghdr hdr = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = max_fds ? &room : NULL,
			     .msg_controllen = max_fds ? CMSG_SPACE(max_fds * sizeof(int)) : 0};
	int got[PASSFD_MAX + 1], bad = 0;
	ssize_t r;

	assert(max_fds <= PASSFD_MAX);
	do
		r = recvmsg(sock, &hdr, MSG_CMSG_CLOEXEC | (flags & ~PASSFD_ANYBODYS));
	while (r < 0 && errno == EINTR);
	for (unsigned i = 0; i < max_fds; i++)
		fds[i] = FD_NONE;
	if (r < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	unsigned n = take_all(&hdr, got);
	if (r == 0 && n == 0)
		return -EPIPE;
	for (unsigned i = 0; (flags & PASSFD_ANYBODYS) && i < n; i++)
		bad = fd_may_wait(got[i]) ? -EBADMSG : bad;
	if (!bad && (n > max_fds || (hdr.msg_flags & (MSG_TRUNC | MSG_CTRUNC))))
		bad = -EPROTO;
	while (bad && n > 0)
		fd_discard(&got[--n]);
	if (bad)
		return bad;
	for (unsigned i = 0; i < n; i++)
		fds[i] = got[i];
	*ret_len = (size_t)r;
	return (int)n;
}

int passfd_receive(int sock, void *data, size_t len, int *fds, unsigned max_fds, int flags)
{
	size_t got = 0;
	int n = passfd_receive_max(sock, data, len, &got, fds, max_fds, flags);

	if (n < 0 || got == len)
		return n;
	while (n > 0)
		fd_close(&fds[--n]);
	return -EPROTO;
}
