#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seccomp, notify, ref-bwrap
#
# Calls that change the machine, and old ones that nobody needs and nobody reviews. The kernel
# refuses many of them for want of a capability, but only after it has parsed what it was given.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "B13 nothing reaches the calls that change the machine"

attack()
{
	attack_build
	all_shut init_module finit_module delete_module kexec_load kexec_file_load reboot swapon \
		swapoff acct quotactl quotactl_fd fanotify_init fanotify_mark syslog sethostname \
		setdomainname vhangup memfd_secret cachestat lookup_dcookie nfsservctl uselib \
		ustat sysfs _sysctl create_module query_module
	denied init_module finit_module delete_module kexec_load kexec_file_load reboot swapon \
		swapoff acct
}

run_case
