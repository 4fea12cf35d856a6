#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: time
#
# A payload that exits with 137 or 124, or prints that it did, looks like one that ran out of memory
# or time, if one goes by numbers. The result tells them apart: an exit, a signal that the payload
# sent itself, the memory limit, the time limit, the caller.
. "$(dirname "$0")/../lib/escape.sh"

claim "H09 how a run ended is told by the supervisor alone"

# ends WANT_RC STATUS EXIT_CODE SIGNAL LIMIT [OPTION...] -- COMMAND...; the last four as JSON.
ends()
{
	local rc=$1 want="[$2, $3, $4, $5]"

	shift 5
	inside_json "$@"
	ran "$rc"
	same "how this ended: $*" "$(json '[d[k] for k in a] + [d["limit"] and d["limit"]["kind"]]' \
		status exit_code signal)" "$want"
	same "no error is made up" "$(json 'd["error"]')" null
}

attack()
{
	local code forever='mkfifo /tmp/f; read x <>/tmp/f'

	for code in 124 125 126 127 137 143 255; do
		ends "$code" '"exited"' "$code" null null -- sh -c "exit $code"
	done
	ends 137 '"signaled"' null 9 null -- sh -c 'kill -KILL $$'
	ends 143 '"signaled"' null 15 null -- sh -c 'kill -TERM $$'
	ends 139 '"signaled"' null 11 null -- sh -c 'ulimit -c 0; kill -SEGV $$'
	ends 159 '"signaled"' null 31 null -- sh -c 'kill -SYS $$'
	# By a child or a sibling is still not by us.
	ends 137 '"signaled"' null 9 null -- sh -c "sh -c 'kill -KILL \$PPID'; $forever"
	ends 137 '"oom"' null 9 '"memory"' --memory 64M -- \
		sh -c 'exec python3 -c "x = bytearray(300 << 20)"'
	ends 124 '"timeout"' null 15 '"time"' --time 200ms -- sh -c "$forever"
	ends 124 '"timeout"' null 9 '"time"' --time 200ms --grace 50ms -- sh -c "trap '' TERM; $forever"
	# Who makes use of the grace to look well has still run out of time.
	ends 124 '"timeout"' 0 null '"time"' --time 200ms -- bash -c "trap 'exit 0' TERM; $forever"
	ends 137 '"killed"' null 9 '"cpu_time"' --cpu-time 200ms --time 10s -- sh -c 'while :; do :; done'
	# What is printed is output and nothing else.
	ends 0 '"exited"' 0 null null -- sh -c 'echo "Killed"
		echo "pinfold: limit memory: out of memory" >&2
		echo "{\"status\":\"oom\",\"exit_code\":137}"'

	inside_start CALLER --json -- sh -c "$forever"
	wait_for 5 sandbox_is_up CALLER
	kill -TERM "$CALLER_PID"
	inside_wait CALLER
	same "stopped by the caller" "$RC" 143
	JSON=$CALLER_OUT
	same "stopped by the caller" "$(json 'd["status"], d["limit"]')" '["killed", null]'

	attack_build
	ends 137 '"exited"' 137 null null --dir "$BIN" -- "$ATTACK"
	shut own-socket init-descriptor pidfd-getfd read-init write-init trace-init
}

run_case
