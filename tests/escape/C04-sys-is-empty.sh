#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: sys
#
# /sys names the machine's serial numbers, disks and firmware, and its tracing, security and cgroup
# trees can be written by who is root enough. Programs only look up how many processors there are.
. "$(dirname "$0")/../lib/escape.sh"

claim "C04 /sys has what says how many processors there are, and nothing else"

MAY="/sys d
/sys/devices d
/sys/devices/system d
/sys/devices/system/cpu d
/sys/devices/system/cpu/online f
/sys/devices/system/cpu/possible f
/sys/devices/system/cpu/present f"

# shellcheck disable=SC2016
WRITE='for f in $(find /sys | head -500); do
		if [ -d "$f" ]; then
			mkdir "$f/x" 2>/dev/null && echo "made $f/x"
		else
			(: >>"$f") 2>/dev/null && echo "opened $f"
		fi
	done; for d in firmware kernel/debug kernel/tracing kernel/security class/dmi block fs/cgroup; do
		[ -e /sys/$d ] && echo "there is $d"
	done; true'

attack()
{
	inside -- find /sys -printf '%p %y\n'
	ran
	KIND=READ same "what else is in /sys" "$(grep -vxF "$MAY" "$OUT" | head -20)" ""
	inside -- sh -c "$WRITE"
	ran
	KIND=WRITE same "what can be written, and what must not be there" "$(cat "$OUT")" ""
	inside -- cat /sys/devices/system/cpu/online
	ran
	same "processors of a sandbox with one" "$(cat "$OUT")" 0
}

run_case
