/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that share a lock have it in turn: by their numbers, and round again. Which worker of a
 * pool has which task, and so which random numbers, would else go by how fast each of them was. A
 * turn that does not come is not waited for long: who is busy, or never uses the lock, is left out
 * until it does. So order is all that changes; nothing is held back for good.
 *
 * The number of a lock's row stands in the semaphore itself, where libc keeps nothing, so every
 * process that has it mapped finds the same.
 */
#include <assert.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stddef.h>

#include "base/sys.h"
#include "pinned/pinned.h"
#include "pinned/ring.h"

#define LOOK_NS 100000
#define EXPECTED_NS (NS_PER_S / 4) /* so long for who has never had it */
#define TURN_NS NS_PER_S	   /* and so long for who has */
#define PATIENCE_NS (5 * NS_PER_S) /* of a process, in all */
#define SPINS 2000u		   /* the row's lock is held for a moment, or by who was killed */
#define KNOWN_MAX 64u
#define NUMBER_AT 6u /* of 32 bits, in the semaphore; libc has the first four */
#define NUMBER_IS 0x72696e00u

static_assert(sizeof(sem_t) >= (NUMBER_AT + 1) * sizeof(uint32_t), "there is room");

enum { AWAY, EXPECTED, BUSY, QUEUED };

static sem_t *known[KNOWN_MAX]; /* that this process has, for those that it makes */
static unsigned n_known;
static uint64_t waited_ns;

static uint32_t *number_of(sem_t *sem)
{
	return (uint32_t *)sem + NUMBER_AT;
}

void pinned_ring_new(sem_t *sem)
{
	struct pinned_table *table = pinned_thread() ? pinned_table() : NULL;
	uint32_t none = 0;

	if (!table)
		return;
	uint32_t n = __atomic_fetch_add(&table->rings_made, 1, __ATOMIC_RELAXED);
	if (n >= PINNED_RINGS)
		return; /* so many take no turns */
	table->rings[n].maker = (uint32_t)sys0(SYS_getpid);
	(void)__atomic_compare_exchange_n(number_of(sem), &none, NUMBER_IS | n, false,
					  __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	pinned_ring_known(sem);
}

static struct pinned_ring *ring_of(sem_t *sem)
{
	uint32_t n = *number_of(sem);
	struct pinned_table *table = (n & ~0xffu) == NUMBER_IS ? pinned_table() : NULL;

	return table && (n & 0xff) < PINNED_RINGS ? &table->rings[n & 0xff] : NULL;
}

void pinned_ring_known(sem_t *sem)
{
	if (ring_of(sem))
		known[__atomic_fetch_add(&n_known, 1, __ATOMIC_RELAXED) % KNOWN_MAX] = sem;
}

static bool lock(struct pinned_ring *r)
{
	for (unsigned i = 0; i < SPINS; i++) {
		if (!__atomic_exchange_n(&r->lock, 1, __ATOMIC_ACQUIRE))
			return true;
		(void)sys0(SYS_sched_yield); /* cannot fail */
	}
	return false;
}

static void unlock(struct pinned_ring *r)
{
	__atomic_store_n(&r->lock, 0, __ATOMIC_RELEASE);
}

/* Room for one more, where somebody has it no more. */
static void make_room(struct pinned_ring *r)
{
	unsigned to = 0;

	for (unsigned i = 0; i < PINNED_MEMBERS; i++)
		if (r->member[i].state != AWAY)
			r->member[to++] = r->member[i];
	for (; to < PINNED_MEMBERS; to++)
		r->member[to].pid = r->member[to].state = 0;
}

/* Its place; PINNED_MEMBERS: there is no room. */
static unsigned place_of(struct pinned_ring *r, uint32_t pid)
{
	unsigned at = 0;

	if (r->member[PINNED_MEMBERS - 1].pid)
		make_room(r);
	while (at < PINNED_MEMBERS && r->member[at].pid && r->member[at].pid < pid)
		at++;
	if (at == PINNED_MEMBERS || r->member[at].pid == pid)
		return at;
	if (r->member[PINNED_MEMBERS - 1].pid)
		return PINNED_MEMBERS;
	for (unsigned i = PINNED_MEMBERS - 1; i > at; i--)
		r->member[i] = r->member[i - 1];
	r->member[at].pid = pid;
	r->member[at].state = AWAY;
	return at;
}

static void set_state(struct pinned_ring *r, uint32_t pid, uint32_t state, bool is_last)
{
	if (!lock(r))
		return;
	unsigned at = place_of(r, pid);
	/* Who is expected may be there already. */
	if (at < PINNED_MEMBERS && !(state == EXPECTED && r->member[at].state != AWAY))
		r->member[at].state = state;
	if (is_last)
		r->last = pid;
	unlock(r);
}

static bool is_member(const struct pinned_ring *r, uint32_t pid)
{
	for (unsigned i = 0; i < PINNED_MEMBERS; i++)
		if (r->member[i].pid == pid)
			return true;
	return false;
}

void pinned_ring_expect(uint32_t pid)
{
	for (unsigned i = 0; i < KNOWN_MAX; i++) {
		struct pinned_ring *r = known[i] ? ring_of(known[i]) : NULL;

		if (r)
			set_state(r, pid, EXPECTED, false);
	}
}

void pinned_ring_rest(void)
{
	uint32_t own = pinned_thread() ? (uint32_t)sys0(SYS_getpid) : 0;

	for (unsigned i = 0; own && i < KNOWN_MAX; i++) {
		struct pinned_ring *r = known[i] ? ring_of(known[i]) : NULL;

		if (r && is_member(r, own))
			set_state(r, own, AWAY, false);
	}
}

void pinned_ring_forget(const sem_t *sem)
{
	for (unsigned i = 0; i < KNOWN_MAX; i++)
		if (known[i] == sem)
			known[i] = NULL;
}

static bool is_gone(uint32_t pid)
{
	char path[24] = "/proc/", stat[128], *p = path + 6;
	char digits[12];
	int n = 0;

	for (uint32_t left = pid; left; left /= 10)
		digits[n++] = (char)('0' + left % 10);
	while (n)
		*p++ = digits[--n];
	*p++ = '/';
	*p++ = 's', *p++ = 't', *p++ = 'a', *p++ = 't', *p = '\0';
	long fd = sys4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return true;
	long len = sys3(SYS_read, fd, stat, sizeof(stat));
	(void)sys1(SYS_close, fd); /* it was only read */
	/* Nobody has waited for it yet: behind its name there is a Z. */
	while (len > 0 && stat[len - 1] != ')')
		len--;
	return len <= 0 || stat[len + 1] == 'Z' || stat[len + 1] == 'X';
}

/* Is it the turn of this one, for whom somebody has waited so long? Who does not come is left out. */
static bool is_awaited(struct pinned_ring *r, unsigned at, uint64_t for_ns)
{
	uint32_t state = r->member[at].state;

	if (state == AWAY)
		return false;
	if (is_gone(r->member[at].pid) || (state == EXPECTED && for_ns >= EXPECTED_NS) ||
	    (state == BUSY && for_ns >= TURN_NS)) {
		r->member[at].state = AWAY;
		return false;
	}
	return state != QUEUED;
}

/* Is it somebody else's turn? */
static bool others_first(struct pinned_ring *r, uint32_t own, uint64_t for_ns)
{
	bool found = false;

	if (!lock(r))
		return false;
	unsigned mine = place_of(r, own), at = 0;
	while (at < PINNED_MEMBERS && r->member[at].pid && r->member[at].pid <= r->last)
		at++;
	for (unsigned i = 0; mine < PINNED_MEMBERS && i < PINNED_MEMBERS; i++, at++) {
		if (at >= PINNED_MEMBERS || !r->member[at].pid)
			at = 0;
		if (at == mine)
			break;
		found |= is_awaited(r, at, for_ns);
	}
	unlock(r);
	return found;
}

static bool is_free(sem_t *sem)
{
	int value = 0;

	return sem_getvalue(sem, &value) == 0 && value > 0;
}

/* Somebody who waits for it has been let in, and has not come yet. */
static bool is_queued(const struct pinned_ring *r, uint32_t own)
{
	for (unsigned i = 0; i < PINNED_MEMBERS; i++)
		if (r->member[i].state == QUEUED && r->member[i].pid != own &&
		    !is_gone(r->member[i].pid))
			return true;
	return false;
}

static void await_turn(sem_t *sem, struct pinned_ring *r, uint32_t own)
{
	const struct timespec look = {0, LOOK_NS};
	uint64_t begin = pinned_true_ns(), for_ns = 0;

	while (waited_ns + for_ns < PATIENCE_NS &&
	       (others_first(r, own, for_ns) ||
		(for_ns < TURN_NS && is_free(sem) && is_queued(r, own)))) {
		(void)sys4(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &look,
			   NULL); /* it may be short */
		for_ns = pinned_true_ns() - begin;
	}
	waited_ns += for_ns;
}

bool pinned_ring_begin(sem_t *sem, bool waits)
{
	struct pinned_ring *r = pinned_thread() ? ring_of(sem) : NULL;
	uint32_t own = r ? (uint32_t)sys0(SYS_getpid) : 0;

	/* One that is not free will not be had by who does not wait. Who made it for others, to keep
	 * workers apart, is none of them, and has threads that wait for him. */
	if (!r || own == r->maker || (!waits && !is_free(sem)))
		return false;
	set_state(r, own, BUSY, false);
	await_turn(sem, r, own);
	if (waits)
		set_state(r, own, QUEUED, false);
	return true;
}

void pinned_ring_end(sem_t *sem, bool has)
{
	struct pinned_ring *r = ring_of(sem);

	if (r)
		set_state(r, (uint32_t)sys0(SYS_getpid), BUSY, has);
}
