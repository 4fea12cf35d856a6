/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that wait for something, but no longer than so long. When it did not come in time,
 * that long has passed, or whoever looks at the clock next would wait once more, and for ever.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "base/sys.h"
#include "pinned/pinned.h"
#include "pinned/ring.h"

#define SIGSET_BYTES 8
#define MS_NS UINT64_C(1000000)
/* Below this a time-out on a condition is a program's own way to take turns (Python's threads wait
 * 5 ms for each other), and how many there are is chance. */
#define TURN_NS (6 * MS_NS)
#define SINCE_1970_NS (UINT64_C(100000000) * NS_PER_S) /* above it is no time since a start */

static long waited(long r, bool limited, uint64_t ns)
{
	struct pinned_thread *t = pinned_thread();

	if (t && r == 0 && limited && ns)
		pinned_slept(t, ns);
	else if (t)
		pinned_waited(t, limited && !ns ? 0 : -1);
	return pinned_result(r);
}

static void polls(bool limited)
{
	struct pinned_thread *t = pinned_thread();

	if (t)
		pinned_polls(t, limited);
}

static long polled(long r, bool limited, uint64_t ns)
{
	struct pinned_thread *t = pinned_thread();

	if (t && r == 0 && limited && ns)
		pinned_slept(t, ns);
	else if (t)
		pinned_polled(t, limited, limited && !ns);
	return pinned_result(r);
}

static long wait_poll(struct pollfd *fds, nfds_t n, const struct timespec *limit,
		      const sigset_t *mask)
{
	struct timespec left = limit ? *limit : (struct timespec){0};

	polls(limit);
	long r = sys5(SYS_ppoll, fds, n, limit ? &left : NULL, mask, SIGSET_BYTES);
	return polled(r, limit, limit ? pinned_ns(limit) : 0);
}

PINNED_API int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *limit,
		     const sigset_t *mask)
{
	return (int)wait_poll(fds, n, limit, mask);
}

PINNED_API int poll(struct pollfd *fds, nfds_t n, int ms)
{
	struct timespec limit = pinned_timespec((uint64_t)(ms > 0 ? ms : 0) * MS_NS);

	return (int)wait_poll(fds, n, ms < 0 ? NULL : &limit, NULL);
}

static long wait_select(int n, fd_set *sets[3], struct timespec *limit, const sigset_t *mask)
{
	uint64_t ns = limit ? pinned_ns(limit) : 0;
	struct {
		const sigset_t *mask;
		size_t len;
	} last = {mask, SIGSET_BYTES};

	polls(limit);
	long r = sys6(SYS_pselect6, n, (long)sets[0], (long)sets[1], (long)sets[2], (long)limit,
		      (long)&last);
	return polled(r, limit, ns);
}

PINNED_API int pselect(int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict ex,
		       const struct timespec *restrict limit, const sigset_t *restrict mask)
{
	struct timespec left = limit ? *limit : (struct timespec){0};
	fd_set *sets[3] = {in, out, ex};

	return (int)wait_select(n, sets, limit ? &left : NULL, mask);
}

PINNED_API int select(int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict ex,
		      struct timeval *restrict limit)
{
	struct timespec left = {0};
	fd_set *sets[3] = {in, out, ex};

	if (limit)
		left = (struct timespec){limit->tv_sec + limit->tv_usec / 1000000,
					 limit->tv_usec % 1000000 * 1000};
	int r = (int)wait_select(n, sets, limit ? &left : NULL, NULL);
	if (limit)
		*limit = (struct timeval){left.tv_sec, left.tv_nsec / 1000};
	return r;
}

PINNED_API int epoll_pwait(int fd, struct epoll_event *events, int n, int ms, const sigset_t *mask)
{
	struct pinned_thread *t = pinned_thread();

	if (t)
		pinned_waits(t, ms);
	if (t && ms == 0)
		pinned_let_go();
	long r = sys6(SYS_epoll_pwait, fd, (long)events, n, ms, (long)mask, SIGSET_BYTES);
	return (int)waited(r, ms >= 0, (uint64_t)(ms > 0 ? ms : 0) * MS_NS);
}

PINNED_API int epoll_wait(int fd, struct epoll_event *events, int n, int ms)
{
	return epoll_pwait(fd, events, n, ms, NULL);
}

PINNED_API int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info,
			    const struct timespec *restrict limit)
{
	long r = sys4(SYS_rt_sigtimedwait, set, info, limit, SIGSET_BYTES);
	struct pinned_thread *t = r == -EAGAIN && limit ? pinned_thread() : NULL;

	if (t)
		pinned_slept(t, pinned_ns(limit));
	return (int)pinned_result(r);
}

/* A deadline by our clock, and what the kernel has to be told instead. */
struct deadline {
	struct pinned_thread *t;
	uint64_t length_ns;
	struct timespec real;
};

/* clock < 0: the caller's secret; its size tells. */
static bool deadline_begin(struct deadline *d, clockid_t clock, const struct timespec *at)
{
	struct timespec shown = {0}, now = {0};

	*d = (struct deadline){.t = pinned_thread(), .real = *at};
	if (!d->t || at->tv_sec < 0 || at->tv_nsec < 0 || at->tv_nsec >= (long)NS_PER_S)
		return false; /* refused by who knows how */
	if (clock < 0)
		clock = pinned_ns(at) > SINCE_1970_NS ? CLOCK_REALTIME : CLOCK_MONOTONIC;
	if (!pinned_show(d->t, clock, &shown))
		return false;
	d->length_ns = pinned_ns(at) > pinned_ns(&shown) ? pinned_ns(at) - pinned_ns(&shown) : 0;
	(void)sys2(SYS_clock_gettime, clock, &now); /* it was shown */
	d->real = pinned_timespec(pinned_ns(&now) + d->length_ns);
	return true;
}

static void deadline_end(const struct deadline *d, bool missed, bool takes_turns)
{
	if (d->t && takes_turns && d->length_ns <= TURN_NS)
		pinned_unlook(d->t);
	else if (missed && d->t)
		pinned_slept(d->t, d->length_ns);
}

PINNED_API int pthread_cond_timedwait(pthread_cond_t *restrict cond,
				      pthread_mutex_t *restrict mutex,
				      const struct timespec *restrict at)
{
	static int (*behind)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
	struct deadline d;

	if (!behind)
		behind = pinned_behind("pthread_cond_timedwait", "GLIBC_2.3.2");
	(void)deadline_begin(&d, -1, at); /* then it is what was given */
	int r = behind(cond, mutex, &d.real);
	deadline_end(&d, r == ETIMEDOUT, true);
	return r;
}

PINNED_API int pthread_cond_clockwait(pthread_cond_t *restrict cond,
				      pthread_mutex_t *restrict mutex, clockid_t clock,
				      const struct timespec *restrict at)
{
	static int (*behind)(pthread_cond_t *, pthread_mutex_t *, clockid_t,
			     const struct timespec *);
	struct deadline d;

	if (!behind)
		behind = pinned_behind("pthread_cond_clockwait", NULL);
	(void)deadline_begin(&d, clock, at); /* then it is what was given */
	int r = behind(cond, mutex, clock, &d.real);
	deadline_end(&d, r == ETIMEDOUT, true);
	return r;
}

PINNED_API int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex,
				       const struct timespec *restrict at)
{
	static int (*behind)(pthread_mutex_t *, const struct timespec *);
	struct deadline d;

	if (!behind)
		behind = pinned_behind("pthread_mutex_timedlock", NULL);
	(void)deadline_begin(&d, CLOCK_REALTIME, at); /* then it is what was given */
	int r = behind(mutex, &d.real);
	deadline_end(&d, r == ETIMEDOUT, false);
	return r;
}

PINNED_API int sem_timedwait(sem_t *restrict sem, const struct timespec *restrict at)
{
	static int (*behind)(sem_t *, const struct timespec *);
	struct deadline d;

	if (!behind)
		behind = pinned_behind("sem_timedwait", NULL);
	pinned_locks((uintptr_t)__builtin_return_address(0));
	pinned_rests(sem);
	(void)deadline_begin(&d, CLOCK_REALTIME, at); /* then it is what was given */
	int r = behind(sem, &d.real);
	deadline_end(&d, r < 0 && errno == ETIMEDOUT, false);
	return r;
}

PINNED_API int sem_clockwait(sem_t *restrict sem, clockid_t clock,
			     const struct timespec *restrict at)
{
	static int (*behind)(sem_t *, clockid_t, const struct timespec *);
	struct deadline d;

	if (!behind)
		behind = pinned_behind("sem_clockwait", NULL);
	pinned_locks((uintptr_t)__builtin_return_address(0));
	pinned_rests(sem);
	(void)deadline_begin(&d, clock, at); /* then it is what was given */
	int r = behind(sem, clock, &d.real);
	deadline_end(&d, r < 0 && errno == ETIMEDOUT, false);
	return r;
}
