/* SPDX-License-Identifier: Apache-2.0 */
/* How busy the machine is: not at all, and it began with the run. /proc/loadavg says the same, to
 * everybody (sandbox/image_host.c). Its one processor has the number 0. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "base/sys.h"
#include "pinned/pinned.h"

PINNED_API int sysinfo(struct sysinfo *ret)
{
	struct pinned_thread *t = pinned_thread();
	long r = sys1(SYS_sysinfo, ret);

	if (r < 0 || !t)
		return (int)pinned_result(r);
	ret->uptime = (long)(pinned_tick(t) / NS_PER_S);
	for (unsigned i = 0; i < 3; i++)
		ret->loads[i] = 0;
	ret->freeram = ret->totalram;
	ret->sharedram = ret->bufferram = 0;
	ret->freeswap = ret->totalswap;
	ret->freehigh = ret->totalhigh;
	ret->procs = 2;
	return 0;
}

/* libc has a way of its own to the kernel for this. */
PINNED_API int getloadavg(double loads[], int n)
{
	int (*behind)(double *, int) = pinned_thread() ? NULL : pinned_behind("getloadavg", NULL);

	if (behind)
		return behind(loads, n);
	n = n > 3 ? 3 : n;
	for (int i = 0; i < n; i++)
		loads[i] = 0;
	return n;
}

PINNED_API int sched_getaffinity(pid_t pid, size_t len, cpu_set_t *ret)
{
	long r = sys3(SYS_sched_getaffinity, pid, len, ret);

	if (r < 0)
		return (int)pinned_result(r);
	memset((char *)ret + r, 0, len - (size_t)r); /* as libc does */
	if (pinned_thread()) {
		memset(ret, 0, len);
		CPU_SET_S(0, len, ret);
	}
	return 0;
}

/* Whoever is given the one there is has it. */
PINNED_API int sched_setaffinity(pid_t pid, size_t len, const cpu_set_t *want)
{
	if (!pinned_thread())
		return (int)pinned_result(sys3(SYS_sched_setaffinity, pid, len, want));
	if (CPU_ISSET_S(0, len, want))
		return 0;
	errno = EINVAL;
	return -1;
}

PINNED_API int sched_getcpu(void)
{
	unsigned cpu = 0;
	long r = sys3(SYS_getcpu, &cpu, NULL, NULL);

	return r < 0 ? (int)pinned_result(r) : pinned_thread() ? 0 : (int)cpu;
}
