/* SPDX-License-Identifier: Apache-2.0 */
/* Every call that changes or lists mounts. */
#include "B-doors.h"
#include <linux/mount.h>
#include <sys/stat.h>

#ifndef SYS_statmount
#define SYS_statmount 457
#define SYS_listmount 458
#endif
#define SYS_open_tree_attr_ 467

#define MS_BIND_ 0x1000
#define MS_REMOUNT_ 0x20

static long old_mount(const char *from, const char *to, const char *type, unsigned long flags)
{
	return syscall(SYS_mount, from, to, type, flags, NULL);
}

static void try_old(void)
{
	filtered("mount-tmpfs", old_mount("x", "/tmp", "tmpfs", 0));
	filtered("mount-bind", old_mount("/", "/tmp", NULL, MS_BIND_));
	filtered("mount-remount", old_mount(NULL, "/proc/sys", NULL, MS_BIND_ | MS_REMOUNT_));
	filtered("mount-proc", old_mount("x", "/tmp", "proc", 0));
	filtered("mount-overlay", old_mount("x", "/tmp", "overlay", 0));
	filtered("mount-reached", old_mount(BAD_POINTER, BAD_POINTER, BAD_POINTER, 0));
	filtered("umount-mask", syscall(SYS_umount2, "/proc/kcore", 2));
	filtered("umount-proc-sys", syscall(SYS_umount2, "/proc/sys", 2));
	filtered("umount-reached", syscall(SYS_umount2, "/", ~0));
	filtered("pivot_root", syscall(SYS_pivot_root, ".", "."));
	filtered("chroot", syscall(SYS_chroot, "/tmp"));
	filtered("chroot-reached", syscall(SYS_chroot, BAD_POINTER));
}

static void try_new(void)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_NOEXEC};

	filtered("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
	filtered("fsconfig-reached", syscall(SYS_fsconfig, -1, 6, NULL, NULL, 0));
	filtered("fsmount-reached", syscall(SYS_fsmount, -1, ~0, 0));
	filtered("fspick-reached", syscall(SYS_fspick, AT_FDCWD, "/", ~0));
	filtered("open_tree-clone", syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE));
	filtered("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/", 0));
	filtered("open_tree-reached", syscall(SYS_open_tree, AT_FDCWD, "/", ~0));
	filtered("move_mount", syscall(SYS_move_mount, AT_FDCWD, "/proc", AT_FDCWD, "/tmp", 0));
	filtered("mount_setattr",
		 syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, &attr, sizeof(attr)));
	filtered("mount_setattr-reached", syscall(SYS_mount_setattr, AT_FDCWD, "/", ~0, &attr, 1));
	missing("open_tree_attr", syscall(SYS_open_tree_attr_, AT_FDCWD, "/", ~0, NULL, 0));
}

/* The ids of mounts are counted up on the whole host: those near ours are other people's. */
static void try_listing(void)
{
	struct {
		unsigned size, spare;
		unsigned long long id, param, ns;
	} request = {24, 0, 1, 0xffff, 0};
	unsigned long long ids[16];
	char buf[4096];

	missing("statmount", syscall(SYS_statmount, &request, buf, sizeof(buf), 0));
	request.id = ~0ULL; /* LSMT_ROOT */
	request.param = 0;
	missing("listmount", syscall(SYS_listmount, &request, ids, 16, 0));
	missing("statmount-reached", syscall(SYS_statmount, BAD_POINTER, buf, sizeof(buf), ~0));
}

int main(void)
{
	try_old();
	try_new();
	try_listing();
	return 0;
}
