/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The alarm of a process. It rings by the true clock; who looks at his own then is at the moment for
 * which it was set, not at the one at which the kernel came to it.
 */
#include <sys/time.h>
#include <unistd.h>

#include "base/sys.h"
#include "pinned/pinned.h"

static struct {
	uint64_t at_ns, true_ns; /* 0: none is set */
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

uint64_t pinned_rung(void)
{
	uint64_t at = bell.at_ns;

	if (!at || pinned_true_ns() < bell.true_ns)
		return 0;
	bell.at_ns = bell.every_ns ? at + bell.every_ns : 0;
	bell.true_ns += bell.every_ns;
	return at;
}

void pinned_no_alarm(void)
{
	bell.at_ns = 0;
}

PINNED_API int setitimer(__itimer_which_t which, const struct itimerval *restrict want,
			 struct itimerval *restrict ret)
{
	struct pinned_thread *t = which == ITIMER_REAL ? pinned_thread() : NULL;
	struct itimerval before = {0};
	long r = sys3(SYS_setitimer, which, want, &before);

	if (r >= 0 && t && bell.at_ns > t->now_ns)
		before.it_value = timeval(bell.at_ns - t->now_ns);
	if (r >= 0 && ret)
		*ret = before;
	if (r < 0 || !t || !want)
		return (int)pinned_result(r);
	uint64_t ns = length(&want->it_value);
	bell.every_ns = length(&want->it_interval);
	bell.true_ns = pinned_true_ns() + ns;
	bell.at_ns = ns ? t->now_ns + ns : 0;
	return 0;
}

PINNED_API unsigned alarm(unsigned seconds)
{
	struct itimerval want = {.it_value.tv_sec = (time_t)seconds}, before = {0};

	if (setitimer(ITIMER_REAL, &want, &before) < 0)
		return 0;
	return (unsigned)before.it_value.tv_sec + (before.it_value.tv_usec > 0);
}
