/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "alert/alert.h"

/*
 * Left out although they are refused, because programs try them in good faith: clone with
 * namespaces (browsers look whether they could), raw sockets (ping), perf_event_open (profilers),
 * the clock (ntp clients).
 */
static const char *const escapes[] = {
	"mount",
	"umount2",
	"pivot_root",
	"chroot",
	"fsopen",
	"fsmount",
	"open_tree",
	"move_mount",
	"mount_setattr",
	"fsconfig",
	"fspick",
	"unshare",
	"setns",
	"bpf",
	"userfaultfd",
	"add_key",
	"request_key",
	"keyctl",
	"init_module",
	"finit_module",
	"delete_module",
	"kexec_load",
	"kexec_file_load",
	"reboot",
	"swapon",
	"swapoff",
	"acct",
	"open_by_handle_at",
	"ioctl", /* of ioctl only typing into a terminal is asked about */
};

const char *alert_name(enum alert_rule rule)
{
	static const char *const names[ALERT_RULES] = {
		[ALERT_SECRET] = "secret",     [ALERT_DENIALS] = "denials",
		[ALERT_METADATA] = "metadata", [ALERT_ESCAPE] = "escape",
		[ALERT_TERMINAL] = "terminal", [ALERT_PROMPT] = "prompt",
	};

	assert(rule < ALERT_RULES);
	return names[rule];
}

bool alert_is_escape(const char *call)
{
	for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++)
		if (strcmp(escapes[i], call) == 0)
			return true;
	return false;
}
