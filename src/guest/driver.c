/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An interpreter that waits ready for a program (driver.py, driver.js, driver.R). It is the command
 * of its sandbox from the beginning, under all of its rules; what it gets when it is claimed are
 * descriptors.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include "base/sys.h"
#include "guest/guest.h"
#include "guest/loader_image.h"

static void drop(struct guest *g)
{
	(void)sys1(SYS_close, g->driver);
	g->driver = -1;
}

/* Of this sandbox alone, so that nothing of it is shared with another. */
int guest_loader_make(struct guest *g)
{
	long size = loader_image_end - loader_image;
	long fd = sys2(SYS_memfd_create, "loader", MFD_CLOEXEC);

	if (fd < 0)
		return (int)fd;
	g->loader = (int)fd;
	return sys3(SYS_write, fd, loader_image, size) == size ? 0 : -EIO;
}

/* Calls that the host side is asked about: nobody listens there yet, and there is nobody to be
 * told. The answers are its own (sandbox/notify.c); no protection hangs on them. */
static void answer(int listener)
{
	struct seccomp_notif req = {0};
	struct seccomp_notif_resp resp = {0};

	if (sys3(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_RECV, &req) < 0)
		return;
	resp.id = req.id;
	if (req.data.nr == SYS_connect || req.data.nr == SYS_sendto)
		resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	else
		resp.error = -EPERM;
	(void)sys3(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_SEND, &resp); /* or it is gone */
}

static int await_ready(const struct guest *g)
{
	struct pollfd fds[2] = {
		{.fd = g->driver, .events = POLLIN},
		{.fd = g->listener, .events = POLLIN},
	};
	char byte;

	while (!fds[0].revents) {
		long r = sys5(SYS_ppoll, fds, 2, NULL, NULL, 0);

		if (r < 0 && r != -EINTR)
			return (int)r;
		if (r > 0 && (fds[1].revents & POLLIN))
			answer(g->listener);
	}
	return sys3(SYS_read, g->driver, &byte, 1) == 1 ? 0 : -EPIPE;
}

void guest_driver_start(struct guest *g)
{
	int pair[2], step = 0;

	if (sys4(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return;
	g->driver = pair[0];
	g->driver_end = pair[1];
	int r = guest_loader_make(g);
	if (r >= 0)
		r = guest_command(g, &step);
	(void)sys1(SYS_close, g->driver_end);
	(void)sys1(SYS_close, g->loader);
	g->driver_end = g->loader = -1;
	/* One that ends before it is ready is of no use, but harms nobody. */
	if (r < 0 || await_ready(g) < 0)
		drop(g);
}

/* One message with descriptors. */
static long give(int sock, const void *data, size_t len, const int *fds, unsigned n)
{
	struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = len};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(MSG_CLAIM_FDS * sizeof(int))];
	} control = {.head = {.cmsg_len = CMSG_LEN(n * sizeof(int)),
			      .cmsg_level = SOL_SOCKET,
			      .cmsg_type = SCM_RIGHTS}};
	struct msghdr hdr = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = CMSG_SPACE(n * sizeof(int))};

	for (unsigned i = 0; i < n; i++)
		((int *)(void *)CMSG_DATA(&control.head))[i] = fds[i];
	return sys3(SYS_sendmsg, sock, &hdr, MSG_NOSIGNAL);
}

/* Who it is, and the listener of its own filter. */
static int meet(struct guest *g)
{
	struct msg_host msg;
	int fds[MSG_FDS_MAX];
	long n = guest_receive_from(g->driver, &msg, fds, 0);

	if (n < 0 || msg.kind != MSG_PROCEED || msg.arg <= 1)
		return n < 0 ? (int)n : -EPROTO;
	g->command = msg.arg;
	if (n > 0)
		g->driver_listener = fds[0];
	return 0;
}

/* Ours is for commands that we start; now there will be none. */
static void take_listener(struct guest *g)
{
	if (g->driver_listener < 0)
		return;
	(void)sys1(SYS_close, g->listener);
	g->listener = g->driver_listener;
}

void guest_driver_fork(struct guest *g)
{
	struct msg_guest fork = {.kind = MSG_FORK};
	struct msg_host plan = {.kind = MSG_PLAN};
	const int fds[] = {g->plan_fd, g->ruleset};
	int pair[2];

	if (sys4(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return;
	g->driver = pair[0];
	long r = give(g->driver, &plan, sizeof(plan), fds, g->ruleset < 0 ? 1 : 2);
	if (r >= 0)
		r = guest_send(&fork, NULL, pair[1]);
	(void)sys1(SYS_close, pair[1]);
	(void)sys1(SYS_close, g->plan_fd);
	g->plan_fd = -1;
	/* SIGCHLD stays blocked for serve.c, as with any command. */
	uint64_t chld = 1u << (SIGCHLD - 1);
	(void)sys4(SYS_rt_sigprocmask, SIG_BLOCK, &chld, NULL, sizeof(chld));
	if (r < 0 || meet(g) < 0)
		drop(g);
}

/* A process's CPU clock, as clock_getcpuclockid() makes it. */
static uint64_t cpu_us(int pid)
{
	struct timespec ts = {0};

	(void)sys2(SYS_clock_gettime, (~(long)pid << 3) | 2, &ts); /* then 0 */
	return (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000u;
}

int guest_driver_claim(struct guest *g)
{
	long dir = guest_workdir(g);

	if (dir < 0)
		return (int)dir; /* the ordinary start says so best */
	(void)sys1(SYS_close, dir);
	if (g->driver < 0)
		return -ESRCH;
	g->used_us = cpu_us(g->command);
	g->started_ns = guest_now_ns();
	long r = give(g->driver, "c", 1, g->claim, MSG_CLAIM_FDS);
	drop(g);
	if (r < 0)
		return (int)r;
	take_listener(g);
	return 0;
}
