/* SPDX-License-Identifier: Apache-2.0 */
#include "apply/file.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "base/fd.h"

#define BLOCK ((size_t)256 << 10)
#define ATTRS_BYTES 65536u

int file_open(int dir, const char *name, int *ret_fd, struct stat *ret_st, struct err *e)
{
	auto_close int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || fstat(fd, ret_st) < 0)
		return err_sys(e, "open %s", name);
	if (!S_ISREG(ret_st->st_mode)) {
		(void)err_set(e, ERR_CONFLICT, "%s has become something else", name);
		return -ESTALE;
	}
	*ret_fd = take_fd(&fd);
	return 0;
}

static bool is_zero(const char *block, size_t len)
{
	return len > 0 && block[0] == 0 && memcmp(block, block + 1, len - 1) == 0;
}

int file_copy(int from, int to, char ret_hash[HASH_TEXT_SIZE], struct err *e)
{
	auto_free char *block = malloc(BLOCK);
	uint8_t digest[HASH_BYTES];
	struct hash h;
	size_t n = BLOCK;
	off_t size = 0;

	if (!block)
		return err_sys(e, "copy");
	hash_init(&h);
	while (n == BLOCK) {
		int r = fd_read_max(from, block, BLOCK, &n);

		if (r >= 0 && is_zero(block, n))
			r = lseek(to, (off_t)n, SEEK_CUR) < 0 ? -errno : 0;
		else if (r >= 0)
			r = fd_write_all(to, block, n);
		if (r < 0) {
			errno = -r;
			return err_sys(e, "copy");
		}
		hash_add(&h, block, n);
		size += (off_t)n;
	}
	if (ftruncate(to, size) < 0)
		return err_sys(e, "copy");
	hash_done(&h, digest);
	hash_text(digest, ret_hash);
	return 0;
}

void file_copy_attrs(int from, int to)
{
	auto_free char *names = malloc(ATTRS_BYTES), *value = malloc(ATTRS_BYTES);
	ssize_t len = names && value ? flistxattr(from, names, ATTRS_BYTES) : 0;

	for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1) {
		const char *name = names + at;

		if (strncmp(name, "user.", 5) != 0 && strcmp(name, "system.posix_acl_access") != 0)
			continue;
		ssize_t n = fgetxattr(from, name, value, ATTRS_BYTES);
		if (n >= 0)
			(void)fsetxattr(to, name, value, (size_t)n, 0); /* not every disk can */
	}
}

int file_copy_link(int from_dir, const char *from, int to_dir, const char *to,
		   char ret_hash[HASH_TEXT_SIZE], struct err *e)
{
	char target[LINK_BYTES + 1];
	uint8_t digest[HASH_BYTES];
	ssize_t n = readlinkat(from_dir, from, target, sizeof(target));
	struct hash h;

	if (n < 0)
		return err_sys(e, "read a link");
	if ((size_t)n >= sizeof(target))
		return err_set(e, ERR_LIMIT, "a link with a target of more than %u bytes",
			       LINK_BYTES);
	target[n] = '\0';
	if (to && symlinkat(target, to_dir, to) < 0)
		return err_sys(e, "make a link");
	hash_init(&h);
	hash_add(&h, target, (size_t)n);
	hash_done(&h, digest);
	hash_text(digest, ret_hash);
	return 0;
}

int file_set_meta(int fd, const struct stat *st, struct err *e)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, st->st_mtim};

	/* Another's file in a directory of ours becomes ours, as with any editor. */
	if (fchown(fd, st->st_uid, st->st_gid) < 0 && errno != EPERM)
		return err_sys(e, "set the owner");
	/* A set-id bit of the host's own file stays the host's affair. */
	if (fchmod(fd, st->st_mode & 07777) < 0 || futimens(fd, times) < 0)
		return err_sys(e, "set mode and time");
	return 0;
}
