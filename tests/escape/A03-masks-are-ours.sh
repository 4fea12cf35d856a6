#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: masks
#
# CVE-2025-31133: files of /proc were masked with the image's /dev/null, which was a symbolic link.
# There are no images yet; a workspace can carry such names, and a mask that can be written to would
# be a channel between sandboxes. So: masked files are empty, in whatever workspace, and stay empty.
. "$(dirname "$0")/../lib/escape.sh"

claim "A03 what is masked in /proc is masked by inodes of our own"

MASKED="kcore kallsyms keys key-users timer_list sysrq-trigger latency_stats kmsg sched_debug
	config.gz slabinfo vmallocinfo iomem ioports modules scsi acpi driver"

attack()
{
	ln -sfn /proc/sys/kernel/core_pattern "$W/null"
	mkdir -p "$W/dev" "$W/proc"
	ln -sfn /proc/sys/kernel/core_pattern "$W/dev/null"
	ln -sfn /proc/sys/kernel "$W/proc/acpi"
	# shellcheck disable=SC2086
	inside --dir "$W" --workdir /work -- sh -c 'for f in "$@"; do
			[ -e /proc/$f ] || { echo "shut $f absent"; continue; }
			if [ -d /proc/$f ]; then n=$(ls -A /proc/$f 2>/dev/null | wc -l)
			else n=$(timeout 2 head -c 4096 /proc/$f 2>/dev/null | tr -d " \n0" | wc -c); fi
			if [ "$n" -gt 0 ]; then echo "open $f shows $n"; else echo "shut $f"; fi
		done' sh $MASKED
	ran
	KIND=READ shut kcore keys timer_list sysrq-trigger

	# shellcheck disable=SC2086
	inside --dir "$W" --workdir /work -- sh -c 'for f in "$@"; do
			[ $f = sysrq-trigger ] && continue
			{ echo marked >/proc/$f; } 2>/dev/null; { echo marked >/proc/$f/x; } 2>/dev/null
		done; cat /dev/null; ls -l /dev/null | cut -c1; stat -c %t:%T /dev/null
		p=/proc/sys/kernel/core_pattern
		v=$(cat $p); { echo "$v" >$p; } 2>/dev/null && echo open core_pattern
		true' sh $MASKED
	ran
	same "/dev/null is the device" "$(tr '\n' ' ' <"$OUT")" "c 1:3 "
	# shellcheck disable=SC2086
	inside -- sh -c 'for f in "$@"; do
			cat /proc/$f /proc/$f/x 2>/dev/null | head -c 4096
		done; true' sh $MASKED
	ran
	absent "a mask carries bytes to the next sandbox" marked
}

run_case
