/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An interpreter that waits ready for a program (driver.py). It is the command of its sandbox from
 * the beginning, under all of its rules; what it gets when it is claimed are descriptors.
 */
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include "base/sys.h"
#include "guest/guest.h"

static void drop(struct guest *g)
{
	(void)sys1(SYS_close, g->driver);
	g->driver = -1;
}

void guest_driver_start(struct guest *g)
{
	int pair[2], step = 0;
	char ready = 0;

	if (sys4(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return;
	g->driver = pair[0];
	g->driver_end = pair[1];
	int r = guest_command(g, &step);
	(void)sys1(SYS_close, g->driver_end);
	g->driver_end = -1;
	/* One that ends before it is ready is of no use, but harms nobody. */
	if (r < 0 || sys3(SYS_read, g->driver, &ready, 1) != 1)
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
	char byte = 'c';
	struct iovec iov = {.iov_base = &byte, .iov_len = 1};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(g->claim))];
	} control = {.head = {.cmsg_len = CMSG_LEN(sizeof(g->claim)),
			      .cmsg_level = SOL_SOCKET,
			      .cmsg_type = SCM_RIGHTS}};
	struct msghdr hdr = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control.room)};

	if (g->driver < 0)
		return -ESRCH;
	for (unsigned i = 0; i < MSG_CLAIM_FDS; i++)
		((int *)(void *)CMSG_DATA(&control.head))[i] = g->claim[i];
	g->used_us = cpu_us(g->command);
	g->started_ns = guest_now_ns();
	long r = sys3(SYS_sendmsg, g->driver, &hdr, MSG_NOSIGNAL);
	drop(g);
	return r < 0 ? (int)r : 0;
}
