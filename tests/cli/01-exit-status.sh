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

# As in a shell: text without a first line of #! is a script, anything else no program.
files()
{
	local file

	printf '\177ELF\2\1\1%0200d\n' 0 >"$W/other-machine"
	printf '\1\2\0\3 data\n' >"$W/data"
	printf 'echo ran\n' >"$W/text"
	printf '#!/bin/sh\r\necho ran\r\n' >"$W/crlf"
	chmod 755 "$W"/*
	own "$W"
	for file in other-machine data; do
		ends 126 failed 126 null "a file that is no program: $file" --dir "$W" -- "/work/$file"
		inside --dir "$W" --env PATH=/usr/bin:/work -- "$file"
		exits 126 "$file on the PATH"
		says 'invalid_argument.command: .*Exec format error' "$file: which is said"
	done
	ends 0 exited 0 null "a script without a first line" --dir "$W" -- /work/text
	ends 127 failed 127 null "a script with the line ends of Windows" --dir "$W" -- /work/crlf
	inside --dir "$W" -- /work/crlf
	says 'carriage return.*"/bin/sh\\r"' "whose interpreter is named as the kernel sees it"
	says '^pinfold: remedy: .*sed -i' "with what helps"
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
	files
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
