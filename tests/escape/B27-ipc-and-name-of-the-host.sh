#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: ipcns, utsns
#
# System V IPC and POSIX message queues have no path: whoever shares the namespace and has the number
# can attach memory that the host's programs work on, if its mode allows it. The host's name tells
# whose machine it is.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "B27 no memory segment, queue or semaphore of the host is in reach, nor its name"

attack()
{
	attack_build
	# Made by the caller of the tests, for everybody, until the end of its standard input.
	coproc HOLDER { "$ATTACK_HOST" hold "$CANARY_ENV_VALUE" 2>&1; }
	BACKGROUND+=("$HOLDER_PID")
	read -ra ARGS <&"${HOLDER[0]}"
	holds "the objects are there" test ${#ARGS[@]} = 5
	holds "the host sees the segment" "$ATTACK_HOST" check "${ARGS[0]}" "$CANARY_ENV_VALUE"
	WORKS="own-segment " all_shut segment-by-number segment-by-key queue-by-key semaphore-by-key \
		posix-queue listed
	inside -- sh -c 'uname -n; cat /proc/sys/kernel/hostname /etc/hostname; cat /proc/sysvipc/*'
	ran
	KIND=READ same "the name is the sandbox's own" "$(grep -cE '^sbx[a-z2-7]{26}$' "$OUT")" 3
	same "segments, queues and semaphores that are listed" \
		"$(grep -cE "^ +[0-9]+ +[0-9]+ " "$OUT")" 0
	exec {HOLDER[1]}>&-
	wait "$HOLDER_PID" 2>/dev/null
}

run_case
