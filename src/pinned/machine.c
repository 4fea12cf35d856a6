/* SPDX-License-Identifier: Apache-2.0 */
/* How busy the machine is: not at all, and it began with the run. /proc/loadavg says the same, to
 * everybody (sandbox/image_host.c). */
#include <stdlib.h>
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
