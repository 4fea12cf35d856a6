#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The exit status of `pinfold run` says how the command ended, and so does the document.
. "$(dirname "$0")/../lib/cli.sh"

# ends RC STATUS EXIT_CODE SIGNAL NAME ARG...: once as it is, once with --json.
ends()
{
	local rc=$1 status=$2 code=$3 signal=$4 name=$5

	shift 5
	inside "$@"
	exits "$rc" "$name"
	inside_json "$@"
	exits "$rc" "$name, with --json"
	json_is "[\"$status\", $code, $signal]" '[d["status"], d["exit_code"], d["signal"]]' "$name"
}

checks()
{
	ends 0 exited 0 null "a command that ends well" -- true
	ends 1 exited 1 null "false" -- false
	ends 255 exited 255 null "the highest status" -- sh -c 'exit 255'
	ends 124 exited 124 null "a command that exits like a timeout" -- sh -c 'exit 124'
	ends 137 exited 137 null "a command that exits like a kill" -- sh -c 'exit 137'
	ends 143 signaled null 15 "SIGTERM" -- sh -c 'kill -TERM $$'
	ends 137 signaled null 9 "SIGKILL of itself" -- sh -c 'kill -KILL $$'
	ends 139 signaled null 11 "a crash" -- sh -c 'kill -SEGV $$'
	ends 124 timeout null 15 "the time limit" --time 300ms -- tail -f /dev/null
	ends 126 failed 126 null "a file that is not executable" -- /etc/passwd
	ends 126 failed 126 null "a directory" -- /usr
	ends 127 failed 127 null "no such command" -- no-such-command
	ends 127 failed 127 null "no such path" -- /no/such/command
	ends 125 failed 125 null "no such working directory" --workdir /no/such -- true
	ends 137 oom null 9 "out of memory" --memory 32M -- \
		/usr/bin/python3 -c 'import signal; x = bytearray(200 << 20); signal.pause()'
	# What the command left running neither delays the end nor changes it.
	inside -- sh -c 'tail -f /dev/null & exit 3'
	exits 3 "the command ends, its child is killed"
	inside --time 300ms --grace 5s -- sh -c 'trap "exit 9" TERM; tail -f /dev/null & wait'
	exits 124 "a command that ends itself on SIGTERM was still a timeout"
	inside --time 300ms --grace 300ms -- sh -c \
		'trap "" TERM; while :; do tail -f /dev/null; done'
	exits 124 "a command that ignores SIGTERM"
	says 'limit time' "and why is said"
}

run_checks
