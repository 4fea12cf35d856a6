/* SPDX-License-Identifier: Apache-2.0 */
#include "store/reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "store/store.h"

#define NAME "reserve"
#define BYTES (1u << 20)
#define LEAST (64u << 10) /* of it, and what a removal may take */
#define PLENTY (8ull * BYTES)

/* Half a file would say that it is there. */
static bool take(const struct store *s, off_t bytes)
{
	auto_close int fd =
		openat(s->home_fd, NAME, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return false;
	if (fallocate(fd, 0, 0, bytes) == 0)
		return true;
	(void)unlinkat(s->home_fd, NAME, 0);
	return false;
}

void reserve_keep(const struct store *s)
{
	struct statfs fs;
	struct stat st;

	if (fstatat(s->home_fd, NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size >= BYTES)
		return;
	if (fstatfs(s->home_fd, &fs) == 0 && (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize >= PLENTY)
		(void)take(s, BYTES);
}

/* Asked of the file system itself: a quota is in no number that it tells. */
static bool is_full(const struct store *s)
{
	auto_close int fd = openat(s->home_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	if (fd >= 0 && fallocate(fd, 0, 0, LEAST) == 0)
		return false;
	return errno == ENOSPC || errno == EDQUOT;
}

bool reserve_give(struct store *s)
{
	if (!is_full(s) || unlinkat(s->home_fd, NAME, 0) < 0)
		return false;
	s->gave_reserve = true;
	return true;
}

void reserve_retake(struct store *s)
{
	bool taken = !s->gave_reserve;

	for (off_t bytes = BYTES; !taken && bytes >= LEAST; bytes -= LEAST)
		taken = take(s, bytes);
	s->gave_reserve = false;
}
