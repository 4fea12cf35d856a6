/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GUEST_FORKED_H
#define GUEST_FORKED_H

#define LOADER_API __attribute__((visibility("default")))

#define RULESET_FD 110

/* Once, before anything is forked. */
void zygote_begin(void);
/* Join the sandbox of `guest` (a pidfd) and fork there, into `group` (FD_NONE: none). Returns as
 * fork does, or -errno. */
LOADER_API long loader_enter(int guest, int time, int group);
/* Give up every right, by the plan that waits in `sock`, which is DRIVER_FD from then on. Returns
 * the listener of the system call filter (0: there is none), or -errno. */
LOADER_API int loader_confine(int sock);

/* Have these pages of a file found now, not when they are needed. */
LOADER_API void loader_touch(unsigned long start, unsigned long size);

#endif
