/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A21-host-tree-is-detached [PID FILE]: without arguments, inside: the ways out of a tree that is
 * only hidden. With them, on the host and as root: enters the mount namespace of PID, where whoever
 * comes in stands at its very root, and looks whether that is what PID has for a root.
 */
#include "B-doors.h"

#include <err.h>
#include <sched.h>
#include <sys/stat.h>

/* The classic: another root below us, and up from where we still stand. */
static void by_chroot(void)
{
	struct stat root, up;
	char place[] = "/tmp/XXXXXX";
	int above = open("/", O_RDONLY | O_DIRECTORY);

	if (stat("/", &root) < 0 || !mkdtemp(place) || above < 0)
		err(2, "prepare");
	if (door("chroot", chroot(place)) < 0)
		return;
	door("chroot-up", fchdir(above));
	for (int i = 0; i < 64 && chdir("..") == 0; i++)
		;
	door_if("chroot-out",
		stat(".", &up) < 0 || up.st_dev != root.st_dev || up.st_ino != root.st_ino, "");
}

/* Who enters a mount namespace, be it his own, is put at its root. */
static void by_setns(void)
{
	door("setns", setns(open("/proc/self/ns/mnt", O_RDONLY), CLONE_NEWNS));
	door("unshare", unshare(CLONE_FS | CLONE_NEWNS));
}

static int from_host(const char *pid, const char *file)
{
	char path[64];
	struct stat root, here;
	int ns;

	snprintf(path, sizeof(path), "/proc/%s/root", pid);
	if (stat(path, &root) < 0)
		err(2, "%s", path);
	snprintf(path, sizeof(path), "/proc/%s/ns/mnt", pid);
	ns = open(path, O_RDONLY);
	if (ns < 0 || setns(ns, CLONE_NEWNS) < 0 || stat("/", &here) < 0)
		err(2, "%s", path);
	door_if("root", here.st_dev != root.st_dev || here.st_ino != root.st_ino, "");
	door("file", open(file, O_PATH));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return from_host(argv[1], argv[2]);
	by_setns();
	by_chroot();
	return 0;
}
