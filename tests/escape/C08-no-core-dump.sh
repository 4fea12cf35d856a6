#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: rlimits
#
# A piped core_pattern runs a program on the host, as root, with names and memory that the sandbox
# chose (apport CVE-2025-5054, systemd-coredump CVE-2025-4598). The kernel starts it even at a
# limit of 0: only at exactly 1 does it not, nor writes a file. So the limit is 1, and nothing
# inside can make it another.
. "$(dirname "$0")/../lib/escape.sh"

claim "C08 a crash leaves no core dump and starts no handler on the host"

cores()
{
	find "$W" "$BIN" "$M/home" "$M/run" -name '*core*' ! -name 'C08*' 2>/dev/null
}

attack()
{
	local user

	attack_build
	for user in user root; do
		inside --user "$user" --dir "$BIN" -- "$ATTACK" limits
		if [ "$user$MODE" = rootU ] && [ "$RC" = 125 ]; then
			refused "sandbox root without a range of ids"
			continue
		fi
		ran
		same "the limit of $user, whatever is asked for" "$(cat "$OUT")" "limit first 1 1
limit raised 1 1
limit soft-lowered 1 1
limit lowered 1 1"
		inside --user "$user" --dir "$BIN" --workdir /work -- sh -c \
			'ulimit -c unlimited 2>/dev/null; "$1" crash; echo "status $?"
			find / -xdev -name "*core*" -newer "$1" -type f 2>/dev/null
			true' sh "$ATTACK"
		ran
		same "how it ended, and the files that it left" "$(cat "$OUT")" "crashing
status 139"
	done
	KIND=WRITE same "core dumps on the host" "$(cores)" ""
	inside_json --dir "$BIN" -- "$ATTACK" crash
	same "the document" "$(json '[d["status"], d["signal"], len(d["files"])]')" \
		'["signaled", 11, 0]'
	[ "$EUID" = 0 ] || return 0
	# Our own processes: init cannot be dumped at all, the other one must not be either.
	inside_start SLEEPER -- tail -f /dev/null
	wait_for 5 sandbox_is_up SLEEPER
	same "the limit of init" "$(awk '/^Max core/ {print $5, $6}' \
		"/proc/$(sandbox_pids SLEEPER | head -1)/limits")" "1 1"
	kill "$SLEEPER_LAUNCH"
	inside_wait SLEEPER
}

run_case
