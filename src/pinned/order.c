/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who sleeps until when: those whose sleeps end at about the same time get up in the order of their
 * clocks. On a machine with other work the kernel wakes them together, and takes any of them first.
 * It is a help, no promise: nobody waits longer than a little, nor often, for somebody who lies.
 */
#include <errno.h>

#include "base/sys.h"
#include "pinned/pinned.h"

#define NEAR_NS (NS_PER_S / 20) /* so much later by the true clock may somebody get up before us */
#define LOOK_NS 100000
#define PATIENCE_NS (2 * NS_PER_S) /* of a process, in all */

static uint64_t waited_ns;

static struct pinned_sleeper *bed(uint32_t tid)
{
	struct pinned_table *table = pinned_table();

	return table ? &table->sleepers[tid % PINNED_SLEEPERS] : NULL;
}

uint32_t pinned_lies_down(uint64_t until_ns, uint64_t length_ns)
{
	uint32_t tid = (uint32_t)sys0(SYS_gettid);
	struct pinned_sleeper *s = bed(tid);

	if (!s)
		return 0;
	*s = (struct pinned_sleeper){
		.pid = (uint32_t)sys0(SYS_getpid),
		.until_ns = until_ns,
		.true_ns = pinned_true_ns() + length_ns,
	};
	__atomic_store_n(&s->tid, tid, __ATOMIC_RELEASE);
	return tid;
}

struct place {
	uint64_t until_ns;
	uint32_t tid;
};

static bool is_before(struct pinned_sleeper *s, const struct place *own, uint64_t now)
{
	uint32_t tid = __atomic_load_n(&s->tid, __ATOMIC_ACQUIRE);

	if (!tid || s->true_ns > now + NEAR_NS || s->until_ns > own->until_ns ||
	    (s->until_ns == own->until_ns && tid > own->tid))
		return false;
	if (sys3(SYS_tgkill, s->pid, tid, 0) != -ESRCH)
		return true;
	s->tid = 0; /* it was killed in its sleep */
	return false;
}

static bool others_are_before(const struct place *own, uint64_t now)
{
	struct pinned_table *table = pinned_table();

	for (unsigned i = 0; i < PINNED_SLEEPERS; i++)
		if (is_before(&table->sleepers[i], own, now))
			return true;
	return false;
}

void pinned_gets_up(uint32_t tid, bool in_order)
{
	const struct timespec look = {0, LOOK_NS};
	struct pinned_sleeper *s = tid ? bed(tid) : NULL;

	if (!s)
		return;
	const struct place own = {s->until_ns, tid};
	uint64_t begin = pinned_true_ns(), now = begin;
	if (__atomic_load_n(&s->tid, __ATOMIC_RELAXED) == tid) /* else somebody else lies there */
		__atomic_store_n(&s->tid, 0, __ATOMIC_RELEASE);
	else
		in_order = false;
	while (in_order && now - begin < 2 * NEAR_NS && waited_ns < PATIENCE_NS &&
	       others_are_before(&own, now)) {
		(void)sys4(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &look,
			   NULL); /* it may be short */
		now = pinned_true_ns();
	}
	waited_ns += now - begin; /* who counts at the same time counts less */
}
