/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random bytes: a stream for each thread, from the run's seed, the number of its process and the
 * way to the thread. They are as good as any for shuffling and no good at all for keys.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/sys.h"
#include "pinned/pinned.h"

#define TRIES 64
#define ENTROPY_MAX 256
#define UUID_PATH "/proc/sys/kernel/random/uuid"

static bool has_device; /* some descriptor may be /dev/random or /dev/urandom */

/* splitmix64's last steps: every bit of both counts for every bit. */
uint64_t pinned_mix(uint64_t a, uint64_t b)
{
	uint64_t z = a + 0x9e3779b97f4a7c15u * (b + 1);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static uint64_t next(struct pinned_thread *t)
{
	return pinned_mix(t->key, ++t->used);
}

void pinned_fill(struct pinned_thread *t, void *to, size_t len)
{
	unsigned char *p = to;

	while (len > 0) {
		uint64_t v = next(t);
		size_t n = len < sizeof(v) ? len : sizeof(v);

		memcpy(p, &v, n);
		p += n;
		len -= n;
	}
}

PINNED_API ssize_t getrandom(void *to, size_t len, unsigned flags)
{
	struct pinned_thread *t = pinned_thread();

	if (!t)
		return (ssize_t)pinned_result(sys3(SYS_getrandom, to, len, flags));
	pinned_fill(t, to, len);
	return (ssize_t)len;
}

PINNED_API int getentropy(void *to, size_t len)
{
	if (len > ENTROPY_MAX) {
		errno = EIO;
		return -1;
	}
	return getrandom(to, len, 0) < 0 ? -1 : 0;
}

uint32_t arc4random(void);
void arc4random_buf(void *to, size_t len);
uint32_t arc4random_uniform(uint32_t bound);
unsigned pinned_random_device(void *self);

PINNED_API void arc4random_buf(void *to, size_t len)
{
	(void)getrandom(to, len, 0); /* the kernel has some by now */
}

PINNED_API uint32_t arc4random(void)
{
	uint32_t v = 0;

	arc4random_buf(&v, sizeof(v));
	return v;
}

PINNED_API uint32_t arc4random_uniform(uint32_t bound)
{
	return (uint32_t)(((uint64_t)arc4random() * bound) >> 32);
}

/* std::random_device of C++, which would ask the processor. */
PINNED_API unsigned pinned_random_device(void *self)
{
	(void)self;
	return arc4random();
}
PINNED_ALSO(_ZNSt13random_device9_M_getvalEv, pinned_random_device);

/* Descriptors that were there before us. */
void pinned_look_at_input(void)
{
	struct stat st;

	for (long fd = 0; fd < 3 && !has_device; fd++)
		has_device = sys2(SYS_fstat, fd, &st) >= 0 && S_ISCHR(st.st_mode) &&
			     major(st.st_rdev) == 1;
}

static bool is_device(long fd)
{
	struct stat st;

	return has_device && sys2(SYS_fstat, fd, &st) >= 0 && S_ISCHR(st.st_mode) &&
	       (st.st_rdev == makedev(1, 8) || st.st_rdev == makedev(1, 9));
}

PINNED_API ssize_t read(int fd, void *to, size_t len)
{
	struct pinned_thread *t = is_device(fd) ? pinned_thread() : NULL;

	if (t) {
		pinned_fill(t, to, len);
		return (ssize_t)len;
	}
	return (ssize_t)pinned_result(sys3(SYS_read, fd, to, len));
}

PINNED_API ssize_t pread(int fd, void *to, size_t len, off_t at)
{
	struct pinned_thread *t = is_device(fd) ? pinned_thread() : NULL;

	if (!t)
		return (ssize_t)pinned_result(sys4(SYS_pread64, fd, to, len, at));
	pinned_fill(t, to, len);
	return (ssize_t)len;
}
PINNED_ALSO(pread64, pread);

PINNED_API ssize_t readv(int fd, const struct iovec *parts, int n)
{
	struct pinned_thread *t = is_device(fd) ? pinned_thread() : NULL;
	ssize_t sum = 0;

	if (!t || n < 0 || n > IOV_MAX)
		return (ssize_t)pinned_result(sys3(SYS_readv, fd, parts, n));
	for (int i = 0; i < n; i++) {
		pinned_fill(t, parts[i].iov_base, parts[i].iov_len);
		sum += (ssize_t)parts[i].iov_len;
	}
	return sum;
}

static bool names_device(const char *path)
{
	return path && (strcmp(path, "/dev/urandom") == 0 || strcmp(path, "/dev/random") == 0);
}

static void put_hex(char *to, const unsigned char *bytes, unsigned n)
{
	static const char digits[] = "0123456789abcdef";

	for (unsigned i = 0; i < n; i++) {
		to[2 * i] = digits[bytes[i] >> 4];
		to[2 * i + 1] = digits[bytes[i] & 15];
	}
}

/* As the kernel prints one, with a new line. */
static size_t put_uuid(struct pinned_thread *t, char *to)
{
	static const unsigned char lengths[] = {4, 2, 2, 2, 6};
	unsigned char bytes[16];
	size_t at = 0;
	unsigned k = 0;

	pinned_fill(t, bytes, sizeof(bytes));
	bytes[6] = (bytes[6] & 0x0f) | 0x40;
	bytes[8] = (bytes[8] & 0x3f) | 0x80;
	for (unsigned i = 0; i < sizeof(lengths); i++) {
		put_hex(to + at, bytes + k, lengths[i]);
		k += lengths[i];
		at += 2u * lengths[i];
		to[at++] = i + 1 < sizeof(lengths) ? '-' : '\n';
	}
	return at;
}

/* What scripts take a name from. -1: that is not what is opened. */
static long open_uuid(const char *path)
{
	struct pinned_thread *t = path && strcmp(path, UUID_PATH) == 0 ? pinned_thread() : NULL;
	char text[64];
	long fd = t ? sys2(SYS_memfd_create, "uuid", MFD_CLOEXEC) : -1;

	if (fd < 0)
		return -1;
	(void)sys4(SYS_pwrite64, fd, text, put_uuid(t, text), 0); /* there is room for it */
	return fd;
}

static int open_at(int dir, const char *path, int flags, mode_t mode)
{
	long fd = open_uuid(path);

	if (fd >= 0 && !(flags & O_CLOEXEC))
		(void)sys3(SYS_fcntl, fd, F_SETFD, 0); /* cannot fail for one of ours */
	if (fd < 0 && !(flags & O_PATH))
		fd = pinned_open_proc(path, flags);
	if (fd >= 0)
		return (int)fd;
	has_device = has_device || names_device(path);
	return (int)pinned_result(sys4(SYS_openat, dir, path, flags, mode));
}

/* The mode is there where a file may be made. */
#define TAKE_MODE(flags, mode)                                                                     \
	do {                                                                                       \
		va_list list;                                                                      \
		va_start(list, flags);                                                             \
		if ((flags) & (O_CREAT | __O_TMPFILE))                                             \
			(mode) = va_arg(list, mode_t);                                             \
		va_end(list);                                                                      \
	} while (0)

PINNED_API int open(const char *path, int flags, ...)
{
	mode_t mode = 0;

	TAKE_MODE(flags, mode);
	return open_at(AT_FDCWD, path, flags, mode);
}

PINNED_API int openat(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;

	TAKE_MODE(flags, mode);
	return open_at(dir, path, flags, mode);
}
PINNED_ALSO(open64, open);
PINNED_ALSO(openat64, openat);

/* What programs that are checked for lengths call. */
int __open_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);

PINNED_API int __open_2(const char *path, int flags)
{
	return open_at(AT_FDCWD, path, flags, 0);
}

PINNED_API int __openat_2(int dir, const char *path, int flags)
{
	return open_at(dir, path, flags, 0);
}
PINNED_ALSO(__open64_2, __open_2);
PINNED_ALSO(__openat64_2, __openat_2);

static ssize_t read_stream(void *none, char *to, size_t len)
{
	(void)none;
	return getrandom(to, len, 0);
}

/* libc's streams do not come by read(). */
PINNED_API FILE *fopen(const char *restrict path, const char *restrict mode)
{
	static FILE *(*behind)(const char *, const char *);

	if (names_device(path) && pinned_thread())
		return fopencookie(NULL, mode, (cookie_io_functions_t){.read = read_stream});
	long fd = pinned_open_proc(path, strchr(mode, 'e') ? O_CLOEXEC : 0);
	FILE *copy = fd >= 0 ? fdopen((int)fd, mode) : NULL;
	if (copy)
		return copy;
	if (fd >= 0)
		(void)sys1(SYS_close, fd);
	if (!behind)
		behind = pinned_behind("fopen", NULL);
	return behind(path, mode);
}
PINNED_ALSO(fopen64, fopen);

/* The six X before the ending; NULL: there are none. */
static char *blanks(char *name, int ending)
{
	size_t len = strlen(name);

	if (ending < 0 || len < 6 + (size_t)ending)
		return NULL;
	name += len - 6 - (size_t)ending;
	return strncmp(name, "XXXXXX", 6) == 0 ? name : NULL;
}

static void fill_in(struct pinned_thread *t, char *to)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	unsigned char bytes[6];

	if (t)
		pinned_fill(t, bytes, sizeof(bytes));
	else
		(void)sys3(SYS_getrandom, bytes, sizeof(bytes), 0); /* any name will do */
	for (unsigned i = 0; i < sizeof(bytes); i++)
		to[i] = letters[bytes[i] % (sizeof(letters) - 1)];
}

/* flags < 0: a directory. */
static long make_unique(char *name, int ending, int flags)
{
	char *at = blanks(name, ending);
	long r = at ? -EEXIST : -EINVAL;

	for (unsigned i = 0; i < TRIES && r == -EEXIST; i++) {
		fill_in(pinned_thread(), at);
		r = flags < 0 ? sys3(SYS_mkdirat, AT_FDCWD, name, 0700)
			      : sys4(SYS_openat, AT_FDCWD, name,
				     (flags & ~O_ACCMODE) | O_RDWR | O_CREAT | O_EXCL, 0600);
	}
	return pinned_result(r);
}

PINNED_API int mkostemps(char *name, int ending, int flags)
{
	return (int)make_unique(name, ending, flags);
}

PINNED_API int mkstemps(char *name, int ending)
{
	return (int)make_unique(name, ending, 0);
}

PINNED_API int mkostemp(char *name, int flags)
{
	return (int)make_unique(name, 0, flags);
}

PINNED_API int mkstemp(char *name)
{
	return (int)make_unique(name, 0, 0);
}

PINNED_API char *mkdtemp(char *name)
{
	return make_unique(name, 0, -1) < 0 ? NULL : name;
}

/* A name that is free now; what comes of it is the caller's risk. */
static char *free_name(char *name)
{
	struct stat st;
	char *at = blanks(name, 0);
	long r = at ? 0 : -EINVAL;

	for (unsigned i = 0; i < TRIES && r >= 0; i++) {
		fill_in(pinned_thread(), at);
		r = sys4(SYS_newfstatat, AT_FDCWD, name, &st, AT_SYMLINK_NOFOLLOW);
	}
	return r == -ENOENT ? name : NULL;
}

PINNED_API char *mktemp(char *name) /* tidy: programs call it */
{
	if (!free_name(name))
		name[0] = '\0';
	return name;
}

PINNED_API char *tmpnam_r(char to[L_tmpnam])
{
	if (!to)
		return NULL;
	memcpy(to, "/tmp/fileXXXXXX", sizeof("/tmp/fileXXXXXX"));
	return free_name(to);
}

PINNED_API char *tmpnam(char to[L_tmpnam]) /* tidy: programs call it */
{
	static char own[L_tmpnam];

	return tmpnam_r(to ? to : own);
}
PINNED_ALSO(mkostemps64, mkostemps);
PINNED_ALSO(mkstemps64, mkstemps);
PINNED_ALSO(mkostemp64, mkostemp);
PINNED_ALSO(mkstemp64, mkstemp);

/* Who asks the kernel by way of libc. */
PINNED_API long syscall(long nr, ...)
{
	long a[6];
	va_list list;

	va_start(list, nr);
	for (unsigned i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (nr == SYS_getrandom)
		return getrandom((void *)a[0], (size_t)a[1], (unsigned)a[2]);
	if (nr == SYS_clock_gettime)
		return clock_gettime((clockid_t)a[0], (struct timespec *)a[1]);
	if (nr == SYS_gettimeofday && a[0])
		return gettimeofday((struct timeval *)a[0], (void *)a[1]);
	if (nr == SYS_time)
		return time((time_t *)a[0]);
	if (nr == SYS_nanosleep)
		return nanosleep((const struct timespec *)a[0], (struct timespec *)a[1]);
	if (nr == SYS_statx) /* as node does */
		return statx((int)a[0], (const char *)a[1], (int)a[2], (unsigned)a[3],
			     (struct statx *)a[4]);
	return pinned_result(sys6(nr, a[0], a[1], a[2], a[3], a[4], a[5]));
}
