/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts of every kind, with and without namespaces made for it, shared back as far as possible. */
#include "attack.h"
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

static void mounts(const char *where)
{
	char name[64];

#define TRY(what, call) (snprintf(name, sizeof(name), "%s-" what, where), door(name, call))
	TRY("rshared", mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL));
	TRY("tmpfs", mount("pinfold-escape", "/tmp", "tmpfs", 0, NULL));
	TRY("bind", mount("/usr", "/tmp", NULL, MS_BIND | MS_REC, NULL));
	TRY("move", mount("/tmp", "/home", NULL, MS_MOVE, NULL));
	TRY("remount", mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
	TRY("umount", umount2("/tmp", MNT_DETACH));
#undef TRY
}

int main(void)
{
	pid_t pid;

	mounts("plain");
	pid = fork();
	if (pid == 0) {
		if (door("unshare-mnt", unshare(CLONE_NEWNS)) == 0)
			mounts("nested");
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	pid = fork();
	if (pid == 0) {
		if (door("unshare-user", unshare(CLONE_NEWUSER | CLONE_NEWNS)) == 0)
			mounts("userns");
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return 0;
}
