/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binfmt_misc names a program that the kernel runs for files of a kind, on the whole host or, since
 * Linux 6.7, in a user namespace. Opens what is there for writing, and mounts one.
 */
#include "B-doors.h"
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

static void try_files(const char *prefix, const char *dir)
{
	static const char *const files[] = {"register", "status"};

	for (int i = 0; i < 2; i++) {
		char path[128], name[64];

		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		snprintf(name, sizeof(name), "%s-%s", prefix, files[i]);
		door(name, open(path, O_WRONLY | O_CLOEXEC));
	}
}

static void try_mount(long flags)
{
	if (flags)
		filtered("userns", unshare((int)flags));
	filtered("mount", mount("x", "/tmp/binfmt", "binfmt_misc", 0, NULL));
	try_files("mounted", "/tmp/binfmt");
}

int main(void)
{
	if (mkdir("/tmp/binfmt", 0755) < 0 && errno != EEXIST)
		return 2;
	try_files("proc", "/proc/sys/fs/binfmt_misc");
	in_child(try_mount, 0);
	in_child(try_mount, CLONE_NEWUSER | CLONE_NEWNS);
	filtered("mount-over", mount("x", "/proc/sys/fs/binfmt_misc", "binfmt_misc", 0, NULL));
	return 0;
}
