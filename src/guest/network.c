/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network namespace takes longer to make than anything else. A thread makes it while the main one
 * builds the tree; the NETWORK step joins it there. The thread is gone before any right is given
 * up.
 *
 * When it begins, and where, is worth a tenth of a short run. While the host side writes the plan,
 * two processors are busy, and a third party would only be in somebody's way. So it begins when the
 * rest of the plan has come, and on another processor than ours: the scheduler would leave it behind
 * us, until we wait for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clone.h"
#include "guest/futex.h"
#include "guest/guest.h"

#define CPU_BITS 8192 /* as many processors as Linux can have */

/* The thread's number: out of the way of those that the command and its children get, from 2 on. */
#define MAKER_TID 250
#define MAKER_NETNS "proc/self/task/250/ns/net" /* in the new proc, where it has that number */

static struct {
	uint32_t running; /* the kernel clears and wakes it when the thread is gone */
	uint32_t made;	  /* `error` is final, and the namespace there to be joined */
	uint32_t joined;
	int error;
	int wanted;
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

/* Which processors we may use; `but` one of them, if there is another. */
static long processors(uint64_t *set, size_t size, long but)
{
	uint64_t others = 0;
	long n = sys3(SYS_sched_getaffinity, 0, size, set);

	if (n <= 0 || but < 0)
		return n;
	for (long i = 0; i < n / 8; i++)
		others |= i == but / 64 ? set[i] & ~(1ull << but % 64) : set[i];
	if (!others)
		return -ENOENT;
	set[but / 64] &= ~(1ull << but % 64);
	return n;
}

/* Where it runs decides only how long it takes, so no failure matters here. */
static void place(long but)
{
	uint64_t set[CPU_BITS / 64];
	long n = processors(set, sizeof(set), but);

	if (n > 0)
		(void)sys3(SYS_sched_setaffinity, MAKER_TID, n, set);
}

static void begin(void)
{
	uint32_t here = 0;
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
	if (sys_clone_call(&args, thread_main, NULL) > 0) {
		if (sys3(SYS_getcpu, &here, NULL, NULL) >= 0)
			place((long)here);
		return;
	}
	/* No room for one more, or no such number: then without it. */
	maker.running = 0;
	maker.error = make();
}

void guest_network_want(void)
{
	maker.wanted = 1;
}

void guest_network_step(int heard)
{
	struct pollfd ctl = {.fd = GUEST_CTL, .events = POLLIN};
	struct timespec none = {0};

	if (!maker.wanted || (!heard && sys5(SYS_ppoll, &ctl, 1, &none, NULL, 0) != 1))
		return;
	maker.wanted = 0;
	begin();
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
	if (maker.wanted)
		return -EPROTO; /* nobody began: we would be in the host's */
	if (!maker.running)
		return maker.error;
	if (!__atomic_load_n(&maker.made, __ATOMIC_ACQUIRE))
		place(-1); /* we only wait now: ours is free, too */
	futex_wait_while(&maker.made, 0);
	int r = maker.error < 0 ? maker.error : join(g);
	futex_count(&maker.joined);
	return r;
}

void guest_network_alone(void)
{
	uint32_t running;

	if (!maker.joined)
		return;
	/* The kernel's wake-up for a thread that is gone is not a private one. */
	while ((running = __atomic_load_n(&maker.running, __ATOMIC_ACQUIRE)))
		(void)sys4(SYS_futex, &maker.running, FUTEX_WAIT, running, NULL);
}
