/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WARDEN_USAGE_H
#define WARDEN_USAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct usage {
	uint64_t memory, cpu_us, pids;
};

/* Memory, CPU time and number of all processes of a sandbox without control group, found as
 * descendants of its guest. Shared pages are divided when their sum is over `memory_max`. */
void usage_of_tree(pid_t guest, uint64_t memory_max, struct usage *ret);

/* Bytes on disk of files that have no name any more but are open in one of those processes, each
 * counted once; those in memory do not count. Nothing is resolved: /proc leads to the file
 * itself. */
uint64_t usage_of_nameless(pid_t guest);

/* The same of files on overlays that are open for writing, with a name or without. */
uint64_t usage_of_written(pid_t guest);

#define USAGE_PROCESSES_MAX 4096u
/* Those processes, without the guest. Returns how many there are. */
unsigned usage_list(pid_t guest, pid_t ret[USAGE_PROCESSES_MAX]);
/* 0: it is gone. */
pid_t usage_parent(pid_t pid);
/* Is this one a child of the guest's, or of one of those? */
bool usage_is_below(pid_t pid, pid_t guest);

#endif
