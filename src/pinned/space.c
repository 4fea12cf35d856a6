/* SPDX-License-Identifier: Apache-2.0 */
/* How much room a file system has: of the sandbox's own what there is, of the host's always half,
 * since others write there, too. A run that fills one is stopped by its own limit. */
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include "base/sys.h"
#include "pinned/pinned.h"

#define TMPFS 0x01021994

/* As the kernel fills them, whatever libc's two are. */
static bool is_hosts(long r, const struct statfs64 *fs)
{
	return r >= 0 && fs->f_type != TMPFS && fs->f_blocks && pinned_thread();
}

static int steady(long r, struct statfs64 *ret)
{
	if (is_hosts(r, ret)) {
		ret->f_bfree = ret->f_bavail = ret->f_blocks / 2;
		ret->f_ffree = ret->f_files / 2;
	}
	return (int)pinned_result(r);
}

static int steady_vfs(int r, bool hosts, struct statvfs64 *ret)
{
	if (r == 0 && hosts) {
		ret->f_bfree = ret->f_bavail = ret->f_blocks / 2;
		ret->f_ffree = ret->f_favail = ret->f_files / 2;
	}
	return r;
}

PINNED_API int statfs64(const char *path, struct statfs64 *ret)
{
	return steady(sys2(SYS_statfs, path, ret), ret);
}

PINNED_API int fstatfs64(int fd, struct statfs64 *ret)
{
	return steady(sys2(SYS_fstatfs, fd, ret), ret);
}

PINNED_API int statvfs64(const char *path, struct statvfs64 *ret)
{
	int (*behind)(const char *, struct statvfs64 *) = pinned_behind("statvfs64", NULL);
	struct statfs64 fs;

	return steady_vfs(behind(path, ret), is_hosts(sys2(SYS_statfs, path, &fs), &fs), ret);
}

PINNED_API int fstatvfs64(int fd, struct statvfs64 *ret)
{
	int (*behind)(int, struct statvfs64 *) = pinned_behind("fstatvfs64", NULL);
	struct statfs64 fs;

	return steady_vfs(behind(fd, ret), is_hosts(sys2(SYS_fstatfs, fd, &fs), &fs), ret);
}

PINNED_ALSO(statfs, statfs64);
PINNED_ALSO(fstatfs, fstatfs64);
PINNED_ALSO(statvfs, statvfs64);
PINNED_ALSO(fstatvfs, fstatvfs64);
