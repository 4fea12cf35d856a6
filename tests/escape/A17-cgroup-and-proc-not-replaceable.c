/* SPDX-License-Identifier: Apache-2.0 */
/* Tries to write below /sys/fs/cgroup and to put something else in the place of /proc. */
#include "attack.h"
#include <ftw.h>
#include <sys/mount.h>
#include <sys/stat.h>

static int writable(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)ftw;
	if (type == FTW_D && access(path, W_OK) == 0)
		door_if("cgroup", 1, path);
	if (type == FTW_F && st->st_mode & 0222) {
		int fd = open(path, O_WRONLY);

		if (fd >= 0) {
			door_if("cgroup", 1, path);
			close(fd);
		}
	}
	return 0;
}

int main(void)
{
	nftw("/sys/fs/cgroup", writable, 16, FTW_PHYS);
	door_if("cgroup", 0, "");
	door("mount-proc-tmpfs", mount("x", "/proc", "tmpfs", 0, NULL));
	door("mount-proc-proc", mount("x", "/tmp", "proc", 0, NULL));
	door("bind-over-proc", mount("/tmp", "/proc", NULL, MS_BIND, NULL));
	door("umount-proc", umount2("/proc", MNT_DETACH));
	door("remount-proc-sys", mount(NULL, "/proc/sys", NULL, MS_REMOUNT | MS_BIND, NULL));
	door("umount-proc-sys", umount2("/proc/sys", MNT_DETACH));
	door("umount-mask", umount2("/proc/kcore", MNT_DETACH));
	door("mount-cgroup2", mount("x", "/tmp", "cgroup2", 0, NULL));
	door("mount-cgroup", mount("x", "/tmp", "cgroup", 0, "memory"));
	door("rename-proc", rename("/proc", "/proc2"));
	door("fsopen", syscall(SYS_fsopen, "proc", 0));
	door("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/proc", 1 /* OPEN_TREE_CLONE */));
	return 0;
}
