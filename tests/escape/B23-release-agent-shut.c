/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CVE-2022-0492: a user namespace with a cgroup namespace, a cgroup v1 hierarchy mounted in it, and
 * a path in its release_agent, which the kernel then ran as root of the host. Each step is tried
 * whatever became of the one before; nothing is written.
 */
#include "B-doors.h"
#include <ftw.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

static int agent(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	if (!strcmp(path + ftw->base, "release_agent") ||
	    !strcmp(path + ftw->base, "notify_on_release") ||
	    !strcmp(path + ftw->base, "cgroup.procs")) {
		int fd = open(path, O_WRONLY);

		if (fd >= 0)
			door_if("release_agent", 1, path);
		close(fd);
	}
	return 0;
}

static void try_mount(const char *name, const char *type, const char *options)
{
	if (mount("x", "/tmp/cgroup", type, 0, options) < 0) {
		door_if(name, errno != EPERM && errno != ENOSYS, answer(-1));
		return;
	}
	door_if(name, 1, "mounted");
	nftw("/tmp/cgroup", agent, 8, FTW_PHYS);
	umount2("/tmp/cgroup", MNT_DETACH);
}

static void try_all(long flags)
{
	filtered("unshare", unshare((int)flags));
	try_mount("mount-rdma", "cgroup", "rdma");
	try_mount("mount-memory", "cgroup", "memory");
	try_mount("mount-named", "cgroup", "none,name=x");
	try_mount("mount-v2", "cgroup2", NULL);
	try_mount("mount-nothing", "", NULL);
}

int main(void)
{
	if (mkdir("/tmp/cgroup", 0755) < 0 && errno != EEXIST)
		return 2;
	in_child(try_all, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWCGROUP);
	in_child(try_all, CLONE_NEWNS | CLONE_NEWCGROUP);
	nftw("/sys", agent, 16, FTW_PHYS);
	door_if("release_agent", 0, "");
	return 0;
}
