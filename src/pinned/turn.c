/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that share a semaphore take turns with it. Who gives one back would else have it again
 * before those that wait for it have woken, until the kernel lets somebody else run: which worker of
 * a pool gets how many tasks, and so which random numbers, would go by how fast the machine is.
 */
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdarg.h>

#include "base/sys.h"
#include "pinned/pinned.h"
#include "pinned/ring.h"

#define SHARED_MAX 64u /* a power of two */

static const sem_t *shared[SHARED_MAX]; /* the last that were opened */
static unsigned n_shared;

/* By their names, as Python's multiprocessing does. */
PINNED_API sem_t *sem_open(const char *name, int flags, ...)
{
	static sem_t *(*behind)(const char *, int, unsigned, unsigned);
	va_list ap;

	if (!behind)
		behind = pinned_behind("sem_open", NULL);
	va_start(ap, flags);
	unsigned mode = va_arg(ap, unsigned), value = va_arg(ap, unsigned);
	va_end(ap);
	sem_t *sem = behind(name, flags, mode, value);
	if (sem != SEM_FAILED && (flags & O_CREAT) && value == 1)
		pinned_ring_new(sem); /* a lock; others are for telling */
	else if (sem != SEM_FAILED)
		pinned_ring_known(sem);
	shared[__atomic_fetch_add(&n_shared, 1, __ATOMIC_RELAXED) % SHARED_MAX] = sem;
	return sem;
}

static bool is_shared(const sem_t *sem)
{
	for (unsigned i = 0; i < SHARED_MAX; i++)
		if (shared[i] == sem)
			return true;
	return false;
}

void pinned_rests(const sem_t *sem)
{
	if (is_shared(sem))
		pinned_ring_rest();
}

static int take(sem_t *sem, int (*behind)(sem_t *), bool waits)
{
	bool in_turn = pinned_ring_begin(sem, waits);
	if (waits && !in_turn)
		pinned_rests(sem);
	int r = behind(sem);
	int error = errno;

	if (in_turn)
		pinned_ring_end(sem, r == 0);
	errno = error;
	return r;
}

PINNED_API int sem_wait(sem_t *sem)
{
	static int (*behind)(sem_t *);

	if (!behind)
		behind = pinned_behind("sem_wait", NULL);
	pinned_locks((uintptr_t)__builtin_return_address(0));
	return take(sem, behind, true);
}

PINNED_API int sem_trywait(sem_t *sem)
{
	static int (*behind)(sem_t *);

	if (!behind)
		behind = pinned_behind("sem_trywait", NULL);
	pinned_locks((uintptr_t)__builtin_return_address(0));
	return take(sem, behind, false);
}

PINNED_API int sem_close(sem_t *sem)
{
	static int (*behind)(sem_t *);

	if (!behind)
		behind = pinned_behind("sem_close", NULL);
	pinned_ring_forget(sem);
	return behind(sem);
}

PINNED_API int sem_post(sem_t *sem)
{
	static int (*behind)(sem_t *);

	if (!behind)
		behind = pinned_behind("sem_post", NULL);
	int r = behind(sem);
	if (is_shared(sem) && pinned_thread())
		(void)sys0(SYS_sched_yield); /* cannot fail */
	return r;
}
