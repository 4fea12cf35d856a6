/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The alarm of a process. It rings by the true clock; who looks at his own then is at the moment for
 * which it was set, not at the one at which the kernel came to it.
 */
#include <sys/time.h>
#include <unistd.h>

#include "base/sys.h"
#include "pinned/pinned.h"

static struct bell {
	uint64_t at_ns, true_ns; /* 0: none is set; when the kernel rings, at the latest */
	uint64_t every_ns;
} bell;

static uint64_t length(const struct timeval *tv)
{
	return (uint64_t)tv->tv_sec * NS_PER_S + (uint64_t)tv->tv_usec * 1000;
}

static struct timeval timeval(uint64_t ns)
{
	return (struct timeval){(time_t)(ns / NS_PER_S), (suseconds_t)(ns % NS_PER_S / 1000)};
}

/* The kernel says whether it has rung. By the clock nobody could tell: between the moment at which
 * it was set and a look at the clock there may be any time on a busy machine. */
uint64_t pinned_rung(void)
{
	uint64_t at = bell.at_ns;
	struct itimerval left = {0};

	if (!at || sys2(SYS_getitimer, ITIMER_REAL, &left) < 0)
		return 0;
	uint64_t rest = length(&left.it_value);
	if (!bell.every_ns) {
		bell.at_ns = rest ? at : 0;
		return rest ? 0 : at;
	}
	/* When it rings next; nothing is left when it has rung and the signal was not taken yet. */
	uint64_t next = pinned_true_ns() + (rest ? rest : bell.every_ns);
	if (next <= bell.true_ns + bell.every_ns / 2)
		return 0;
	bell.true_ns = next;
	bell.at_ns = at + bell.every_ns;
	return at;
}

void pinned_no_alarm(void)
{
	bell.at_ns = 0;
}

/* What the clock of who asks has before the next one. */
static struct itimerval shown(const struct pinned_thread *t)
{
	struct itimerval own = {.it_interval = timeval(bell.every_ns)};

	if (bell.at_ns)
		own.it_value = timeval(bell.at_ns > t->now_ns ? bell.at_ns - t->now_ns : 1000);
	return own;
}

PINNED_API int getitimer(__itimer_which_t which, struct itimerval *ret)
{
	struct pinned_thread *t = which == ITIMER_REAL ? pinned_thread() : NULL;

	if (!t || !ret)
		return (int)pinned_result(sys2(SYS_getitimer, which, ret));
	pinned_glance(t);
	*ret = shown(t);
	return 0;
}

PINNED_API int setitimer(__itimer_which_t which, const struct itimerval *restrict want,
			 struct itimerval *restrict ret)
{
	struct pinned_thread *t = which == ITIMER_REAL ? pinned_thread() : NULL;
	struct itimerval before = {0};

	if (!t || !want)
		return (int)pinned_result(sys3(SYS_setitimer, which, want, ret));
	pinned_glance(t); /* one that has rung is none that is set */
	before = shown(t);
	struct bell old = bell;
	uint64_t ns = length(&want->it_value);
	/* Before it is set: it may ring before the kernel has come back from that. */
	bell = (struct bell){.at_ns = ns ? t->now_ns + ns : 0,
			     .true_ns = pinned_true_ns() + ns,
			     .every_ns = ns ? length(&want->it_interval) : 0};
	long r = sys3(SYS_setitimer, which, want, NULL);
	if (r < 0)
		bell = old;
	else if (ret)
		*ret = before;
	return (int)pinned_result(r);
}

PINNED_API unsigned alarm(unsigned seconds)
{
	struct itimerval want = {.it_value.tv_sec = (time_t)seconds}, before = {0};

	if (setitimer(ITIMER_REAL, &want, &before) < 0)
		return 0;
	return (unsigned)before.it_value.tv_sec + (before.it_value.tv_usec > 0);
}

PINNED_API useconds_t ualarm(useconds_t us, useconds_t every)
{
	struct itimerval want = {
		.it_value = timeval((uint64_t)us * 1000),
		.it_interval = timeval((uint64_t)every * 1000),
	};
	struct itimerval before = {0};

	if (setitimer(ITIMER_REAL, &want, &before) < 0)
		return 0;
	return (useconds_t)(length(&before.it_value) / 1000);
}
