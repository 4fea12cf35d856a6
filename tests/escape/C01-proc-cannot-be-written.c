/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens for writing what steers the host or the kernel from /proc, and then everything else there
 * that is not a process's own. Opening is what is checked; nothing is written.
 */
#include "B-doors.h"
#include <ctype.h>
#include <ftw.h>
#include <sys/stat.h>

static void try_file(const char *name, const char *path)
{
	door(name, open(path, O_WRONLY | O_CLOEXEC));
}

/* Of pid directories there are only our own. */
static int writable(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	int fd;

	(void)ftw;
	if (isdigit((unsigned char)path[strlen("/proc/")]))
		return type == FTW_D ? FTW_SKIP_SUBTREE : FTW_CONTINUE;
	if (type != FTW_F || !S_ISREG(st->st_mode))
		return FTW_CONTINUE;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		door_if("anything", 1, path);
		close(fd);
	}
	return FTW_CONTINUE;
}

int main(void)
{
	try_file("sysrq-trigger", "/proc/sysrq-trigger");
	try_file("core_pattern", "/proc/sys/kernel/core_pattern");
	try_file("modprobe", "/proc/sys/kernel/modprobe");
	try_file("drop_caches", "/proc/sys/vm/drop_caches");
	try_file("ns_last_pid", "/proc/sys/kernel/ns_last_pid");
	try_file("ip_forward", "/proc/sys/net/ipv4/ip_forward");
	try_file("ping_group_range", "/proc/sys/net/ipv4/ping_group_range");
	try_file("hostname", "/proc/sys/kernel/hostname");
	try_file("shmmax", "/proc/sys/kernel/shmmax");
	try_file("mqueue", "/proc/sys/fs/mqueue/queues_max");
	try_file("max_user_namespaces", "/proc/sys/user/max_user_namespaces");
	try_file("kcore", "/proc/kcore");
	try_file("mtrr", "/proc/mtrr");
	try_file("irq", "/proc/irq/default_smp_affinity");
	try_file("pressure", "/proc/pressure/memory");
	nftw("/proc", writable, 32, FTW_PHYS | FTW_ACTIONRETVAL);
	door_if("anything", 0, "");
	return 0;
}
