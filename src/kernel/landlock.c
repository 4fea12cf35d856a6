/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/landlock.h"

#include <linux/landlock.h>

#include "base/sys.h"

/* Bits that the oldest headers we build with lack (linux/landlock.h of 6.10 and 6.12). */
#define FS_REFER (1ULL << 13)
#define FS_TRUNCATE (1ULL << 14)
#define FS_IOCTL_DEV (1ULL << 15)
#define SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0)
#define SCOPE_SIGNAL (1ULL << 1)

#define FS_ABI_1 ((1ULL << 13) - 1)
#define FS_READ                                                                                    \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define FS_DEVICES (LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK)

int landlock_abi(void)
{
	long r = sys3(SYS_landlock_create_ruleset, 0, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return r < 0 ? 0 : (int)r;
}

uint64_t landlock_all(int abi)
{
	uint64_t all = abi >= 1 ? FS_ABI_1 : 0;

	if (abi >= 2)
		all |= FS_REFER;
	if (abi >= 3)
		all |= FS_TRUNCATE;
	if (abi >= 5)
		all |= FS_IOCTL_DEV;
	return all;
}

uint64_t landlock_read(int abi)
{
	return landlock_all(abi) & FS_READ;
}

uint64_t landlock_write(int abi)
{
	return landlock_all(abi) & ~FS_DEVICES & ~FS_IOCTL_DEV;
}

uint64_t landlock_link(int abi)
{
	return landlock_all(abi) &
	       (FS_READ | FS_REFER | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
		LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_MAKE_FIFO |
		LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_CHAR);
}

uint64_t landlock_files(int abi)
{
	return landlock_all(abi) &
	       (FS_READ | LANDLOCK_ACCESS_FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV);
}

uint64_t landlock_file_read(int abi)
{
	return landlock_read(abi) & ~(uint64_t)LANDLOCK_ACCESS_FS_READ_DIR;
}

uint64_t landlock_device(int abi)
{
	return landlock_files(abi) & ~(uint64_t)LANDLOCK_ACCESS_FS_READ_DIR;
}

uint64_t landlock_scopes(int abi)
{
	return abi >= 6 ? SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL : 0;
}
