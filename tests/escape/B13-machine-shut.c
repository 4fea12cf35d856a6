/* SPDX-License-Identifier: Apache-2.0 */
/* Modules, swap, accounting, reboot, quota and calls that are only there for programs of 1995. */
#include "B-doors.h"
#include <linux/fanotify.h>
#include <linux/quota.h>

/* Where both the right and the arguments are wrong, the kernel may complain about either. */
static void try_reported(void)
{
	filtered("init_module", syscall(SYS_init_module, BAD_POINTER, 0, BAD_POINTER));
	filtered("finit_module", syscall(SYS_finit_module, -1, BAD_POINTER, ~0));
	filtered("delete_module", syscall(SYS_delete_module, BAD_POINTER, 0));
	filtered("kexec_load", syscall(SYS_kexec_load, 0, 0, NULL, ~0UL));
	filtered("kexec_file_load", syscall(SYS_kexec_file_load, -1, -1, 0, NULL, ~0UL));
	filtered("reboot", syscall(SYS_reboot, 0, 0, 0, NULL));
	filtered("swapon", syscall(SYS_swapon, BAD_POINTER, ~0));
	filtered("swapoff", syscall(SYS_swapoff, BAD_POINTER));
	filtered("acct", syscall(SYS_acct, BAD_POINTER));
}

static void try_silent(void)
{
	filtered("quotactl", syscall(SYS_quotactl, QCMD(Q_SYNC, 99), NULL, 0, NULL));
	filtered("quotactl_fd", syscall(SYS_quotactl_fd, -1, QCMD(Q_SYNC, 99), 0, NULL));
	filtered("fanotify_init", syscall(SYS_fanotify_init, FAN_CLASS_NOTIF | 0x200, 0));
	filtered("fanotify_mark", syscall(SYS_fanotify_mark, -1, ~0, 0, AT_FDCWD, NULL));
	filtered("syslog", syscall(SYS_syslog, 10, NULL, 0));
	filtered("sethostname", syscall(SYS_sethostname, BAD_POINTER, 1 << 20));
	filtered("setdomainname", syscall(SYS_setdomainname, BAD_POINTER, 1 << 20));
	filtered("vhangup", syscall(SYS_vhangup));
	missing("memfd_secret", syscall(SYS_memfd_secret, ~0));
	missing("cachestat", syscall(451, -1, NULL, NULL, 0));
	missing("lookup_dcookie", syscall(SYS_lookup_dcookie, 0, BAD_POINTER, 1));
	missing("nfsservctl", syscall(SYS_nfsservctl, 0, NULL, NULL));
}

#ifdef __x86_64__
static void try_old(void)
{
	char buf[256];

	missing("uselib", syscall(SYS_uselib, BAD_POINTER));
	missing("ustat", syscall(SYS_ustat, 0, buf));
	missing("sysfs", syscall(SYS_sysfs, 3));
	missing("_sysctl", syscall(SYS__sysctl, BAD_POINTER));
	missing("create_module", syscall(SYS_create_module, BAD_POINTER, 0));
	missing("query_module", syscall(SYS_query_module, NULL, 0, NULL, 0, NULL));
}
#else
static void try_old(void)
{
	static const char *const names[] = {"uselib",  "ustat",		"sysfs",
					    "_sysctl", "create_module", "query_module"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		door_if(names[i], 0, "not on this machine");
}
#endif

int main(void)
{
	try_reported();
	try_silent();
	try_old();
	return 0;
}
