/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of one's own process, of the whole machine, and the call itself. */
#include "B-doors.h"
#include <linux/perf_event.h>

static long perf(struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags)
{
	return syscall(SYS_perf_event_open, attr, pid, cpu, -1, flags);
}

int main(void)
{
	struct perf_event_attr soft = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(soft),
				       .config = PERF_COUNT_SW_TASK_CLOCK,
				       .exclude_kernel = 1};
	struct perf_event_attr hard = {.type = PERF_TYPE_HARDWARE,
				       .size = sizeof(hard),
				       .config = PERF_COUNT_HW_CPU_CYCLES,
				       .exclude_kernel = 1,
				       .exclude_hv = 1};

	filtered("own-software", perf(&soft, 0, -1, 0));
	filtered("own-hardware", perf(&hard, 0, -1, 0));
	filtered("machine", perf(&soft, -1, 0, 0));
	/* Flags and size are looked at before anybody's rights. */
	filtered("reached-flags", perf(&soft, 0, -1, ~0UL));
	filtered("reached", perf(BAD_POINTER, 0, -1, 0));
	return 0;
}
