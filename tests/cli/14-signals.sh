#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A signal to pinfold stops the sandbox and everything in it.
. "$(dirname "$0")/../lib/cli.sh"

ready='echo ready; while :; do read -t 1 x; done'

# stopped_by SIGNAL STATUS: a command that does not care is ended; its children, too.
stopped_by()
{
	inside_start RUN -- bash -c "setsid tail -f /dev/null & $ready"
	wait_for 10 grep -q ready "$RUN_OUT"
	kill "-$1" "$RUN_PID"
	inside_wait RUN
	exits "$2" "SIG$1 ends the run with $2"
}

grace()
{
	inside_start RUN --grace 10s -- bash -c "trap 'echo saved; exit 0' TERM; $ready"
	wait_for 10 grep -q ready "$RUN_OUT"
	kill -INT "$RUN_PID"
	inside_wait RUN
	exits 130 "Ctrl-C is our status, although the command ended well"
	prints $'ready\nsaved' "the command is asked first, and what it says then is passed on"

	inside_start RUN --grace 300ms -- bash -c "trap '' TERM; $ready"
	wait_for 10 grep -q ready "$RUN_OUT"
	kill -TERM "$RUN_PID"
	inside_wait RUN
	exits 143 "after the grace it is killed"

	inside_start RUN --grace 50s -- bash -c "trap 'echo asked' TERM; $ready"
	wait_for 10 grep -q ready "$RUN_OUT"
	kill -INT "$RUN_PID"
	wait_for 10 grep -q asked "$RUN_OUT"
	kill -INT "$RUN_PID"
	inside_wait RUN
	exits 130 "a second Ctrl-C does not wait for the grace"
}

# The document is told all the same.
with_json()
{
	inside_start RUN --json -- bash -c "echo ready >&2; echo some; $ready"
	# Nothing streams with --json, but its process can be seen.
	wait_for 10 has_command "$RUN_PID"
	kill -TERM "$RUN_PID"
	inside_wait RUN
	exits 143 "SIGTERM with --json"
	document "SIGTERM with --json"
	json_has 'd["status"] == "killed" and d["limit"] is None' \
		"the status is killed, by no limit"
}

# child_of PID: the first one, as the kernel lists them.
child_of()
{
	cut -d' ' -f1 "/proc/$1/task/$1/children" 2>/dev/null
}

# The guest, and below it the command: then the command's program runs.
has_command()
{
	grep -qa bash "/proc/$(child_of "$(child_of "$1")")/cmdline" 2>/dev/null
}

terminals()
{
	on_terminal 'expect:ready' 'send:\x03' -- run -- bash -c "$ready"
	exits 130 "Ctrl-C on a terminal"
	on_terminal 'expect:ready' 'send:\x1c' -- run -- bash -c "$ready"
	exits 131 "Ctrl-\\ on a terminal"
	# nohup and the like: what the caller ignores stays ignored.
	CALL_WRAP=(/usr/bin/env --ignore-signal=HUP)
	inside_start RUN -- bash -c "$ready"
	CALL_WRAP=()
	wait_for 10 grep -q ready "$RUN_OUT"
	kill -HUP "$RUN_PID"
	kill -TERM "$RUN_PID"
	inside_wait RUN
	exits 143 "a SIGHUP that is ignored does not end a run"
}

# Before there is anything to stop, and after.
moments()
{
	local i status wrong=

	for i in 1 2 3 4 5 6 7 8; do
		inside_start RUN -- true
		kill -TERM "$RUN_PID" 2>/dev/null
		inside_wait RUN
		status=$RC
		case $status in 0 | 143) ;; *) wrong+="$status " ;; esac
	done
	check "a signal at any moment ends in 0 or 143" test -z "$wrong"
	inside --time 1s -- sh -c \
		'kill -TERM -1 1; kill -KILL -1 1; echo here; exec tail -f /dev/null'
	exits 124 "a command that signals everybody else reaches nobody"
	prints here "and goes on"
}

checks()
{
	stopped_by TERM 143
	stopped_by INT 130
	stopped_by HUP 129
	stopped_by QUIT 131
	grace
	with_json
	terminals
	moments
}

run_checks
