/* SPDX-License-Identifier: Apache-2.0 */
#include "apply/beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hold.h"

#define TRIES 16
#define PATH_BYTES 4096u

int beneath_dir(int dir, const char *path)
{
	/* A mount below the directory was never part of what a workspace saw. */
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve = HOLD_APPLY_BENEATH ? RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
							RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV
					      : 0,
	};
	long fd = -1;

	/* EAGAIN: something was renamed on the way. */
	for (int i = 0; i < TRIES && fd < 0; i++) {
		fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
		if (fd < 0 && errno != EAGAIN && errno != EINTR)
			break;
	}
	return (int)fd;
}

int beneath_parent(int dir, const char *path, int *ret_fd, const char **ret_name, struct err *e)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 0;
	char parent[PATH_BYTES];

	if (n >= sizeof(parent))
		return err_set(e, ERR_LIMIT, "%.200s: the path is too long", path);
	memcpy(parent, n ? path : ".", n ? n : 1);
	parent[n ? n : 1] = '\0';
	int fd = beneath_dir(dir, parent);
	if (fd < 0)
		return err_sys(e, "open the directory of %s", path);
	*ret_fd = fd;
	*ret_name = slash ? slash + 1 : path;
	return 0;
}

int beneath_look(int dir, const char *path, struct stat *ret, struct err *e)
{
	auto_close int fd = FD_NONE;
	const char *name = NULL;
	struct err none = ERR_INIT;
	int r = beneath_parent(dir, path, &fd, &name, &none);

	memset(ret, 0, sizeof(*ret));
	if (r == -ENOENT || r == -ENOTDIR || r == -ELOOP || r == -EXDEV)
		return 0;
	if (r < 0) {
		*e = none;
		return r;
	}
	if (fstatat(fd, name, ret, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	memset(ret, 0, sizeof(*ret));
	return errno == ENOENT ? 0 : err_sys(e, "look at %s", path);
}

static bool is_up(const char *at, size_t n)
{
	return n == 2 && at[0] == '.' && at[1] == '.';
}

bool beneath_target(const char *path, const char *target)
{
	unsigned depth = 0;
	bool down = false;

	if (target[0] == '/' || target[0] == '\0')
		return false;
	for (const char *c = path; *c; c++)
		depth += *c == '/';
	for (const char *at = target; *at;) {
		size_t n = strcspn(at, "/");

		if (is_up(at, n) && (down || depth-- == 0))
			return false;
		down = down || (n > 0 && !is_up(at, n) && !(n == 1 && at[0] == '.'));
		at += n + (at[n] == '/');
	}
	return true;
}
