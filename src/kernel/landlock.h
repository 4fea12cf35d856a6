/* SPDX-License-Identifier: Apache-2.0 */
/* What Landlock can do here. The rules themselves are steps of a plan. */
#ifndef KERNEL_LANDLOCK_H
#define KERNEL_LANDLOCK_H

#include <stdint.h>

#define LANDLOCK_ABI_SIGNALS 6 /* scopes: without them level landlock could kill its own guard */
#define LANDLOCK_ABI_MIN 2     /* rename across directories; Linux 5.19 */

/* Highest ABI of the running kernel, 0 when Landlock is absent or switched off. */
int landlock_abi(void);
/* All filesystem rights that `abi` can handle. */
uint64_t landlock_all(int abi);
/* Rights of a tree that may be read and executed but not changed. */
uint64_t landlock_read(int abi);
/* Rights of a tree that may be filled: all but making device nodes. */
uint64_t landlock_write(int abi);
/* Rights of a tree where names may be made and files linked, and nothing written or removed. */
uint64_t landlock_link(int abi);
/* Rights for files that exist and may be written, such as devices. */
uint64_t landlock_files(int abi);
/* The same for a rule on one file: rights of directories are not valid there. */
uint64_t landlock_file_read(int abi);
uint64_t landlock_device(int abi);
/* Scopes (abstract sockets, signals), 0 where the kernel has none. */
uint64_t landlock_scopes(int abi);

#endif
