/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that tell the time, and those that let it pass. */
#include <errno.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <unistd.h>

#include "base/sys.h"
#include "pinned/pinned.h"

#define COARSE_NS 1000000
#define STEP_NS 50000000
#define LONG_SLEEP_S 1000000

bool pinned_show(const struct pinned_thread *t, clockid_t clock, struct timespec *ret)
{
	uint64_t now = t->now_ns;

	switch (clock) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
	case CLOCK_TAI:
		*ret = pinned_timespec((uint64_t)pinned_settings()->start_s * NS_PER_S + now);
		return true;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_BOOTTIME: *ret = pinned_timespec(now); return true;
	case CLOCK_PROCESS_CPUTIME_ID:
	case CLOCK_THREAD_CPUTIME_ID: *ret = pinned_timespec(t->cpu_ns); return true;
	default: return false;
	}
}

static bool is_coarse(clockid_t clock)
{
	return clock == CLOCK_REALTIME_COARSE || clock == CLOCK_MONOTONIC_COARSE;
}

PINNED_API int clock_gettime(clockid_t clock, struct timespec *ret)
{
	struct pinned_thread *t = pinned_thread();

	if (t && (is_coarse(clock) || pinned_is_engine(__builtin_frame_address(0))))
		pinned_glance(t);
	else if (t)
		pinned_look_from(t, (uintptr_t)__builtin_return_address(0));
	if (t && pinned_show(t, clock, ret))
		return 0;
	return (int)pinned_result(sys2(SYS_clock_gettime, clock, ret));
}

/* How often the kernel's goes on differs from machine to machine. 1 ms is what node wants of one for
 * its loop. */
PINNED_API int clock_getres(clockid_t clock, struct timespec *ret)
{
	long r = sys2(SYS_clock_getres, clock, ret);

	if (r >= 0 && ret && is_coarse(clock) && pinned_thread())
		*ret = (struct timespec){0, COARSE_NS};
	return (int)pinned_result(r);
}

static struct timespec wall(void)
{
	struct timespec ts = {0};

	(void)clock_gettime(CLOCK_REALTIME, &ts); /* cannot fail for this clock */
	return ts;
}

PINNED_API int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec ts = wall();
	struct timezone *tz = zone;

	*tv = (struct timeval){ts.tv_sec, ts.tv_nsec / 1000};
	if (tz)
		*tz = (struct timezone){0};
	return 0;
}

PINNED_API time_t time(time_t *ret)
{
	time_t now = wall().tv_sec;

	if (ret)
		*ret = now;
	return now;
}

PINNED_API int timespec_get(struct timespec *ts, int base)
{
	if (base != TIME_UTC)
		return 0;
	*ts = wall();
	return base;
}

PINNED_API clock_t clock(void)
{
	struct timespec ts = {0};

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts); /* cannot fail for this clock */
	return (clock_t)(pinned_ns(&ts) / (NS_PER_S / CLOCKS_PER_SEC));
}

PINNED_API clock_t times(struct tms *ret)
{
	struct pinned_thread *t = pinned_thread();

	if (!t)
		return (clock_t)pinned_result(sys1(SYS_times, ret));
	if (ret)
		*ret = (struct tms){.tms_utime = (clock_t)(t->cpu_ns / (NS_PER_S / 100))};
	return (clock_t)(pinned_tick(t) / (NS_PER_S / 100));
}

/* What depends on the machine and the moment goes. */
static void steady(const struct pinned_thread *t, struct rusage *u)
{
	*u = (struct rusage){.ru_maxrss = PINNED_RSS_KB};
	u->ru_utime = (struct timeval){(time_t)(t->cpu_ns / NS_PER_S),
				       (suseconds_t)(t->cpu_ns % NS_PER_S / 1000)};
}

PINNED_API int getrusage(__rusage_who_t who, struct rusage *ret)
{
	struct pinned_thread *t = pinned_thread();
	long r = sys2(SYS_getrusage, who, ret);

	if (r >= 0 && t) {
		(void)pinned_tick(t);
		steady(t, ret);
	}
	return (int)pinned_result(r);
}

/* How long until a clock, as its readers see it, shows this. */
static uint64_t until(const struct pinned_thread *t, clockid_t clock, const struct timespec *when)
{
	struct timespec now = {0};

	if (!pinned_show(t, clock, &now) || pinned_ns(&now) > pinned_ns(when))
		return 0;
	return pinned_ns(when) - pinned_ns(&now);
}

/* A signal has ended a sleep: by an alarm it is as late as that. How long somebody else took to send
 * one is chance, of which what is less than a step does not count until there is more of it. Returns
 * how much is left. */
static uint64_t cut_short(struct pinned_thread *t, uint64_t asked, uint64_t rest)
{
	uint64_t rung = pinned_rung(), ends = t->now_ns + asked;

	if (rung) {
		rest = rung > t->now_ns && ends >= rung ? ends - rung : rest;
		pinned_reach(t, rung);
		return rest;
	}
	t->cut_ns += asked > rest ? asked - rest : 0;
	uint64_t passed = t->cut_ns / STEP_NS * STEP_NS;
	passed = passed < asked ? passed : asked;
	t->cut_ns -= passed;
	pinned_slept(t, passed);
	return asked - passed;
}

/* Returns -errno. */
static int pause_for(clockid_t clock, int flags, const struct timespec *want, struct timespec *left)
{
	struct pinned_thread *t = pinned_thread();
	struct timespec rest = {0}, asked = *want;

	if (t && (flags & TIMER_ABSTIME))
		asked = pinned_timespec(until(t, clock, want));
	uint64_t ns = pinned_ns(&asked);
	uint32_t bed = t && ns && asked.tv_sec < LONG_SLEEP_S
			       ? pinned_lies_down(pinned_latest(t) + ns, ns)
			       : 0;
	long r = sys4(SYS_clock_nanosleep, t ? CLOCK_MONOTONIC : clock, t ? 0 : flags, &asked,
		      &rest);
	pinned_gets_up(bed, r == 0);
	if (t && r == -EINTR)
		rest = pinned_timespec(cut_short(t, pinned_ns(&asked), pinned_ns(&rest)));
	else if (t && r == 0 && ns) /* who only lets others go first makes it later for nobody */
		pinned_slept(t, ns);
	if (left && !(flags & TIMER_ABSTIME) && r == -EINTR)
		*left = rest;
	return (int)r;
}

PINNED_API int clock_nanosleep(clockid_t clock, int flags, const struct timespec *want,
			       struct timespec *left)
{
	return -pause_for(clock, flags, want, left);
}

PINNED_API int nanosleep(const struct timespec *want, struct timespec *left)
{
	return (int)pinned_result(pause_for(CLOCK_MONOTONIC, 0, want, left));
}

PINNED_API int usleep(useconds_t us)
{
	struct timespec want = {us / 1000000, (long)(us % 1000000) * 1000};

	return nanosleep(&want, NULL);
}

PINNED_API unsigned sleep(unsigned seconds)
{
	struct timespec want = {(time_t)seconds, 0}, left = {0};

	return nanosleep(&want, &left) < 0 ? (unsigned)left.tv_sec + (left.tv_nsec > 0) : 0;
}
