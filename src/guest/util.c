/* SPDX-License-Identifier: Apache-2.0 */
/* Strings and messages of the guest. */
#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include "base/sys.h"
#include "guest/guest.h"
#include "kernel/seccomp.h"

size_t str_len(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

int str_eq(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

uint64_t guest_now_ns(void)
{
	struct timespec ts = {0};

	(void)sys2(SYS_clock_gettime, CLOCK_MONOTONIC, &ts); /* cannot fail for this clock */
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t guest_micros(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000u + (uint64_t)t->tv_usec;
}

void guest_end(int status)
{
	for (;;)
		(void)sys1(SYS_exit_group, status); /* does not return */
}

/* linux/landlock.h has them from 6.15 on */
#define LOG_SAME_EXEC_OFF (1u << 0)
#define LOG_SUBDOMAINS_OFF (1u << 2)

/*
 * What a domain refuses the kernel writes into the host's audit log, where that is on: of programs that
 * were not executed since, and of domains that programs make for themselves below. That would be a way to
 * fill it, and to drown what others do. Kernels before ABI 7 have no such log, and know no flags.
 */
long guest_restrict(int ruleset)
{
	long r = -EINVAL;

#ifndef DROP_LANDLOCK_QUIET
	r = sys2(SYS_landlock_restrict_self, ruleset,
		 SECCOMP_MOVE_FLAGS(LOG_SAME_EXEC_OFF | LOG_SUBDOMAINS_OFF));
#endif
	return r == -EINVAL ? sys2(SYS_landlock_restrict_self, ruleset, SECCOMP_MOVE_FLAGS(0)) : r;
}

int guest_send_to(int sock, const struct msg_guest *msg, const char *name, int fd)
{
	struct iovec iov[2] = {
		{.iov_base = (void *)(uintptr_t)msg, .iov_len = sizeof(*msg)},
		{.iov_base = (void *)(uintptr_t)name, .iov_len = name ? msg->len : 0},
	};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr hdr = {.msg_iov = iov, .msg_iovlen = 2};

	if (fd >= 0) {
		control.head.cmsg_len = CMSG_LEN(sizeof(int));
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		*(int *)(void *)CMSG_DATA(&control.head) = fd;
		hdr.msg_control = &control;
		hdr.msg_controllen = sizeof(control.room);
	}
	/* Only the host side's own socket is waited for. */
	int flags = MSG_NOSIGNAL | (sock == GUEST_CTL ? 0 : MSG_DONTWAIT);
	long r;
	do
		r = sys3(SYS_sendmsg, sock, &hdr, flags);
	while (r == -EINTR);
	return r < 0 ? (int)r : 0;
}

int guest_send(const struct msg_guest *msg, const char *name, int fd)
{
	return guest_send_to(GUEST_CTL, msg, name, fd);
}

long guest_receive_from(int sock, struct msg_host *ret_msg, int fds[MSG_FDS_MAX], int flags)
{
	struct iovec iov = {.iov_base = ret_msg, .iov_len = sizeof(*ret_msg)};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(MSG_FDS_MAX * sizeof(int))];
	} control;
	struct msghdr hdr = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	long r;

	control.head.cmsg_len = 0;
	do
		r = sys3(SYS_recvmsg, sock, &hdr, MSG_CMSG_CLOEXEC | flags);
	while (r == -EINTR);
	if (r != (long)sizeof(*ret_msg))
		return r < 0 ? r : -EPIPE;
	if (!hdr.msg_controllen || control.head.cmsg_type != SCM_RIGHTS)
		return 0;
	unsigned n = (unsigned)((control.head.cmsg_len - CMSG_LEN(0)) / sizeof(int));
	for (unsigned i = 0; i < n; i++)
		fds[i] = ((int *)(void *)CMSG_DATA(&control.head))[i];
	return n;
}

unsigned guest_receive(struct msg_host *ret_msg, int fds[MSG_FDS_MAX])
{
	long n = guest_receive_from(GUEST_CTL, ret_msg, fds, 0);

	if (n < 0)
		guest_end(1);
	return (unsigned)n;
}

unsigned guest_receive_bare(struct msg_host *ret_msg)
{
	long r;

	do
		r = sys3(SYS_read, GUEST_CTL, ret_msg, sizeof(*ret_msg));
	while (r == -EINTR);
	if (r != (long)sizeof(*ret_msg))
		guest_end(1);
	return 0;
}

size_t guest_decimal(char *to, uint64_t v)
{
	char digits[24];
	size_t n = 0, len = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n > 0)
		to[len++] = digits[--n];
	return len;
}
