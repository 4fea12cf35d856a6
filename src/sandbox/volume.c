/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/volume.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <linux/mount.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "base/fd.h"
#include "base/sys.h"

#define MKFS "/sbin/mkfs.ext4"
#define LOOP_TRIES 16

/* No journal: after a crash nobody reads it again. */
static int format(int file, uint64_t bytes, uid_t uid, gid_t gid, struct err *e)
{
	char owner[64], inodes[24], path[32];
	pid_t child;
	int status = 0;

	(void)snprintf(owner, sizeof(owner), "root_owner=%u:%u,nodiscard,lazy_itable_init=1", uid,
		       gid);
	(void)snprintf(inodes, sizeof(inodes), "%llu", (unsigned long long)(bytes / 8192 + 256));
	(void)snprintf(path, sizeof(path), "/dev/fd/9");
	char *const argv[] = {(char *)(uintptr_t) "mkfs.ext4",
			      (char *)(uintptr_t) "-qF",
			      (char *)(uintptr_t) "-O",
			      (char *)(uintptr_t) "^has_journal",
			      (char *)(uintptr_t) "-m",
			      (char *)(uintptr_t) "0",
			      (char *)(uintptr_t) "-N",
			      inodes,
			      (char *)(uintptr_t) "-E",
			      owner,
			      path,
			      NULL};
	char *const env[] = {NULL};
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, file, 9);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	int r = posix_spawn(&child, MKFS, &actions, NULL, argv, env);
	posix_spawn_file_actions_destroy(&actions);
	if (r != 0) {
		errno = r;
		(void)err_sys(e, "run " MKFS);
		return err_remedy(e, "install the package e2fsprogs, or keep --disk within half of "
				     "--memory");
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(e, "wait for mkfs");
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return err_set(e, ERR_INTERNAL, MKFS " failed");
	return 0;
}

/* A free loop device over `file` that is released with its last user. */
static int attach_loop(int file, char path[32], struct err *e)
{
	auto_close int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	struct loop_config config = {
		.fd = (__u32)file,
		.info = {.lo_flags = LO_FLAGS_AUTOCLEAR},
	};

	for (int i = 0; control >= 0 && i < LOOP_TRIES; i++) {
		int number = ioctl(control, LOOP_CTL_GET_FREE);

		(void)snprintf(path, 32, "/dev/loop%d", number);
		auto_close int loop = open(path, O_RDWR | O_CLOEXEC);
		if (loop >= 0 && ioctl(loop, LOOP_CONFIGURE, &config) == 0)
			return take_fd(&loop);
		if (errno != EBUSY) /* taken by another in between: the next one */
			break;
	}
	(void)err_sys(e, "loop device");
	return err_remedy(e, "allow loop devices, or keep --disk within half of --memory");
}

static int mount_loop(const char *path, struct err *e)
{
	auto_close int fs = (int)sys2(SYS_fsopen, "ext4", FSOPEN_CLOEXEC);
	long r = fs;

	if (r >= 0)
		r = sys5(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "source", path, 0);
	if (r >= 0)
		r = sys5(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
	if (r >= 0)
		r = sys3(SYS_fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (r < 0) {
		errno = (int)-r;
		return err_sys(e, "mount the volume");
	}
	return (int)r;
}

void volume_discard(int dir)
{
	/* EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH, from the kernel's fs/ext4/ext4.h. */
	uint32_t no_flush = 2;

	(void)ioctl(dir, _IOR('X', 125, uint32_t), &no_flush); /* else it takes longer, no more */
}

bool volume_unneeded(void)
{
	auto_close int fd = memfd_create("probe", MFD_CLOEXEC);

	return fd < 0 || fsetxattr(fd, "user.probe", "", 0, 0) == 0 || errno != EOPNOTSUPP;
}

int volume_make(const char *dir, uint64_t bytes, uid_t uid, gid_t gid, int *ret_mount,
		struct err *e)
{
	char path[32];
	auto_close int file = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (file < 0)
		return err_sys(e, "make a volume in %s", dir);
	/* Tables and bitmaps take some of it: 1/64 and 4 MiB are more than enough. */
	if (ftruncate(file, (off_t)(bytes + bytes / 64 + (4 << 20))) < 0)
		return err_sys(e, "make a volume of %llu bytes", (unsigned long long)bytes);
	if (format(file, bytes, uid, gid, e) < 0)
		return err_wrap(e, "--disk");
	auto_close int loop = attach_loop(file, path, e);
	if (loop < 0)
		return err_wrap(e, "--disk");
	int mount = mount_loop(path, e);
	if (mount < 0)
		return err_wrap(e, "--disk");
	*ret_mount = mount;
	return 0;
}
