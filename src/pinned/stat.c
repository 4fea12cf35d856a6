/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No file is newer than the start of the clock: when exactly the kernel wrote something is chance,
 * and a directory that was brought back to what it was has other times. Devices are numbered as
 * they are met, since theirs are the host's next.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/sys.h"
#include "pinned/pinned.h"

#define DEVICES_MAX 32u
#define DAY_S 86400

static uint64_t devices[DEVICES_MAX];
static unsigned n_devices;

/* Races only add a number twice, and the first counts. */
uint64_t pinned_device(uint64_t dev)
{
	unsigned n = __atomic_load_n(&n_devices, __ATOMIC_ACQUIRE);

	for (unsigned i = 0; i < n && i < DEVICES_MAX; i++)
		if (devices[i] == dev)
			return i + 1;
	if (n >= DEVICES_MAX)
		return dev;
	devices[n] = dev;
	__atomic_store_n(&n_devices, n + 1, __ATOMIC_RELEASE);
	return n + 1;
}

/* A day behind the start begins what no clock of this run shows: those are times of the caller's
 * own files. */
static bool is_later(int64_t s, uint32_t ns)
{
	const struct pinned_settings *p = pinned_settings();

	return s >= 0 && ((uint64_t)s * NS_PER_S + ns >= p->made_ns || s > p->start_s + DAY_S);
}

static void steady_time(struct timespec *ts)
{
	if (is_later(ts->tv_sec, (uint32_t)ts->tv_nsec))
		*ts = (struct timespec){pinned_settings()->start_s, 0};
}

/* The kernel counts the whole host's processes as links of /proc. */
#define PROC_ROOT_INO 1u
#define PROC_ROOT_LINKS 2u

static bool is_proc_root(uint64_t dev, uint64_t ino)
{
	struct stat st;

	return ino == PROC_ROOT_INO &&
	       sys4(SYS_newfstatat, AT_FDCWD, "/proc", &st, AT_SYMLINK_NOFOLLOW) >= 0 &&
	       st.st_ino == ino && st.st_dev == dev;
}

static long steady(long r, struct stat *st)
{
	if (r < 0 || !pinned_thread())
		return pinned_result(r);
	if (is_proc_root(st->st_dev, st->st_ino))
		st->st_nlink = PROC_ROOT_LINKS;
	steady_time(&st->st_atim);
	steady_time(&st->st_mtim);
	steady_time(&st->st_ctim);
	st->st_dev = pinned_device(st->st_dev);
	return pinned_result(r);
}

static void steady_x(struct statx_timestamp *ts)
{
	if (is_later(ts->tv_sec, ts->tv_nsec))
		*ts = (struct statx_timestamp){.tv_sec = pinned_settings()->start_s};
}

int __fxstatat(int version, int dir, const char *path, struct stat *ret, int flags);
int __xstat(int version, const char *path, struct stat *ret);
int __lxstat(int version, const char *path, struct stat *ret);
int __fxstat(int version, int fd, struct stat *ret);

PINNED_API int fstatat(int dir, const char *restrict path, struct stat *restrict ret, int flags)
{
	return (int)steady(sys4(SYS_newfstatat, dir, path, ret, flags), ret);
}

PINNED_API int stat(const char *restrict path, struct stat *restrict ret)
{
	return fstatat(AT_FDCWD, path, ret, 0);
}

PINNED_API int lstat(const char *restrict path, struct stat *restrict ret)
{
	return fstatat(AT_FDCWD, path, ret, AT_SYMLINK_NOFOLLOW);
}

PINNED_API int fstat(int fd, struct stat *ret)
{
	return (int)steady(sys2(SYS_fstat, fd, ret), ret);
}

/* What programs of before glibc 2.33 call. */
PINNED_API int __fxstatat(int version, int dir, const char *path, struct stat *ret, int flags)
{
	(void)version; /* there is one for 64 bits */
	return fstatat(dir, path, ret, flags);
}

PINNED_API int __xstat(int version, const char *path, struct stat *ret)
{
	(void)version;
	return stat(path, ret);
}

PINNED_API int __lxstat(int version, const char *path, struct stat *ret)
{
	(void)version;
	return lstat(path, ret);
}

PINNED_API int __fxstat(int version, int fd, struct stat *ret)
{
	(void)version;
	return fstat(fd, ret);
}

PINNED_API int statx(int dir, const char *restrict path, int flags, unsigned mask,
		     struct statx *restrict ret)
{
	long r = sys5(SYS_statx, dir, path, flags, mask, ret);

	if (r < 0 || !pinned_thread())
		return (int)pinned_result(r);
	steady_x(&ret->stx_atime);
	steady_x(&ret->stx_btime);
	steady_x(&ret->stx_ctime);
	steady_x(&ret->stx_mtime);
	uint64_t dev = makedev(ret->stx_dev_major, ret->stx_dev_minor);
	if (is_proc_root(dev, ret->stx_ino))
		ret->stx_nlink = PROC_ROOT_LINKS;
	dev = pinned_device(dev);
	ret->stx_dev_major = major(dev);
	ret->stx_dev_minor = minor(dev);
	return 0;
}

PINNED_ALSO(stat64, stat);
PINNED_ALSO(lstat64, lstat);
PINNED_ALSO(fstat64, fstat);
PINNED_ALSO(fstatat64, fstatat);
PINNED_ALSO(__xstat64, __xstat);
PINNED_ALSO(__lxstat64, __lxstat);
PINNED_ALSO(__fxstat64, __fxstat);
PINNED_ALSO(__fxstatat64, __fxstatat);
