/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WARDEN_USAGE_H
#define WARDEN_USAGE_H

#include <stdint.h>
#include <sys/types.h>

struct usage {
	uint64_t memory, cpu_us, pids;
};

/* Memory, CPU time and number of all processes of a sandbox without control group, found as
 * descendants of its guest. Shared pages are divided when their sum is over `memory_max`. */
void usage_of_tree(pid_t guest, uint64_t memory_max, struct usage *ret);

#endif
