#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: sys
#
# /sys names the machine's serial numbers, disks and firmware, and its tracing, security and cgroup
# trees can be written by who is root enough. No program that people run needs any of it.
. "$(dirname "$0")/../lib/escape.sh"

claim "C04 /sys is an empty directory"

MAY="/sys d"

# shellcheck disable=SC2016
WRITE='for f in $(find /sys | head -500); do
		if [ -d "$f" ]; then
			mkdir "$f/x" 2>/dev/null && echo "made $f/x"
		else
			(: >>"$f") 2>/dev/null && echo "opened $f"
		fi
	done
	for d in firmware kernel/debug kernel/tracing kernel/security class/dmi block fs/cgroup; do
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
}

run_case
