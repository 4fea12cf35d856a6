/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network namespace takes longer to make than anything else. A thread makes it while the main one
 * builds the tree; the NETWORK step joins it there. The thread is gone before any right is given
 * up.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/clone.h"
#include "guest/futex.h"
#include "guest/guest.h"

/* The thread's number: out of the way of those that the command and its children get, from 2 on. */
#define MAKER_TID 250
#define MAKER_NETNS "proc/self/task/250/ns/net" /* in the new proc, where it has that number */

static struct {
	uint32_t running; /* the kernel clears and wakes it when the thread is gone */
	uint32_t made;	  /* `error` is final, and the namespace there to be joined */
	uint32_t joined;
	int error;
	_Alignas(16) char stack[8192];
} maker;

static int lo_up(void)
{
	struct ifreq ifr = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	long fd = sys3(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return (int)fd;
	long r = sys3(SYS_ioctl, fd, SIOCSIFFLAGS, &ifr);
	(void)sys1(SYS_close, fd);
	return (int)r;
}

static int make(void)
{
	long r = sys1(SYS_unshare, CLONE_NEWNET);

	return r < 0 ? (int)r : lo_up();
}

static void thread_main(void *unused)
{
	(void)unused;
	maker.error = make();
	futex_count(&maker.made);
	futex_wait_while(&maker.joined, 0); /* the namespace is found through us */
	for (;;)
		(void)sys1(SYS_exit, 0); /* this thread alone */
}

void guest_network_begin(void)
{
	int tid = MAKER_TID;
	/* With descriptors of its own: those of the guest keep the numbers they always have. */
	struct clone_args args = {
		.flags = CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_CHILD_CLEARTID,
		.child_tid = (uint64_t)(uintptr_t)&maker.running,
		.stack = (uint64_t)(uintptr_t)maker.stack,
		.stack_size = sizeof(maker.stack),
		.set_tid = (uint64_t)(uintptr_t)&tid,
		.set_tid_size = 1,
	};

	maker.running = 1;
	if (sys_clone_call(&args, thread_main, NULL) > 0)
		return;
	/* No room for one more, or no such number: then without it. */
	maker.running = 0;
	maker.error = make();
}

static int join(const struct guest *g)
{
	long fd = sys3(SYS_openat, g->root, MAKER_NETNS, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return (int)fd;
	long r = sys2(SYS_setns, fd, CLONE_NEWNET);
	(void)sys1(SYS_close, fd);
	return (int)r;
}

int guest_network_join(const struct guest *g)
{
	if (!maker.running)
		return maker.error;
	futex_wait_while(&maker.made, 0);
	int r = maker.error < 0 ? maker.error : join(g);
	futex_count(&maker.joined);
	/* The kernel's wake-up for a thread that is gone is not a private one. */
	uint32_t running;
	while ((running = __atomic_load_n(&maker.running, __ATOMIC_ACQUIRE)))
		(void)sys4(SYS_futex, &maker.running, FUTEX_WAIT, running, NULL);
	return r;
}
