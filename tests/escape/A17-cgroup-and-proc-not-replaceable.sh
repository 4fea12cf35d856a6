#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: caps+seccomp+landlock, ref-bwrap
#
# CVE-2023-25809: /sys/fs/cgroup was writable inside. CVE-2023-28642: /proc could be replaced
# through a symbolic link, and the masks with it.
. "$(dirname "$0")/../lib/escape.sh"

claim "A17 no cgroup is writable inside and /proc cannot be replaced"

DOORS="cgroup mount-proc-tmpfs mount-proc-proc bind-over-proc umount-proc remount-proc-sys
	umount-proc-sys umount-mask mount-cgroup2 mount-cgroup rename-proc fsopen open_tree"

attack()
{
	attack_build
	inside --dir "$BIN" -- "$ATTACK"
	ran
	# shellcheck disable=SC2086
	shut $DOORS
	inside --user root --dir "$BIN" -- "$ATTACK"
	if [ "$RC" = 125 ]; then
		refused "sandbox root without a range of ids"
	else
		ran
		# shellcheck disable=SC2086
		shut $DOORS
	fi
}

run_case
