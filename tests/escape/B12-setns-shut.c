/* SPDX-License-Identifier: Apache-2.0 */
/* Enters every namespace for which a descriptor can be had, and asks those for their parents. */
#include "B-doors.h"
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>

#ifndef NS_MNT_GET_NEXT
#define NS_MNT_GET_NEXT _IOR(0xb7, 11, char[16])
#define NS_MNT_GET_PREV _IOR(0xb7, 12, char[16])
#endif
#define PIDFD_GET_MNT_NAMESPACE_ _IO(0xff, 3)
#define PIDFD_GET_USER_NAMESPACE_ _IO(0xff, 9)
#define SYS_listns_ 470

static const char *const kinds[] = {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time"};

/* As many words as the kernel may write. */
static char info[256];

static void try_kind(const char *kind)
{
	char path[64], name[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/1/ns/%s", kind);
	snprintf(name, sizeof(name), "open-init-%s", kind);
	door(name, open(path, O_RDONLY));
	snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	fd = open(path, O_RDONLY);
	snprintf(name, sizeof(name), "enter-%s", kind);
	filtered(name, setns(fd, 0));
	snprintf(name, sizeof(name), "parent-%s", kind);
	door(name, ioctl(fd, NS_GET_PARENT));
	if (!strcmp(kind, "mnt")) {
		door("mnt-next", ioctl(fd, NS_MNT_GET_NEXT, info));
		door("mnt-previous", ioctl(fd, NS_MNT_GET_PREV, info));
	}
	close(fd);
}

int main(void)
{
	int init = (int)syscall(SYS_pidfd_open, 1, 0);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		try_kind(kinds[i]);
	filtered("enter-init", setns(init, CLONE_NEWNS | CLONE_NEWPID));
	door("init-mnt", ioctl(init, PIDFD_GET_MNT_NAMESPACE_, 0));
	door("init-user", ioctl(init, PIDFD_GET_USER_NAMESPACE_, 0));
	missing("listns", syscall(SYS_listns_, BAD_POINTER, BAD_POINTER, 1, 0));
	filtered("reached", setns(-1, 0));
	return 0;
}
