#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seal
#
# CVE-2019-5736: code inside opened the runtime's own binary through /proc/self/exe and wrote to it.
# Here the guest runs from a sealed memfd, PID 1 is not readable, and the oracle checks after every
# case that our file on the host has the same hash. A later command in a sandbox that lives is
# started by that guest, so no binary of ours is executed there again.
. "$(dirname "$0")/../lib/escape.sh"

claim "A01 nothing inside can write to a binary of ours"

as_command()
{
	printf '#!/proc/self/exe\n' >"$BIN/script"
	printf '#!/proc/1/exe\n' >"$BIN/script1"
	chmod 0755 "$BIN"/script*
	# What these do is the guest's business: it must not work as a sandbox without its set-up.
	inside --dir "$BIN" -- /work/script
	holds "a script for /proc/self/exe ends with an error" test "$RC" != 0
	inside --dir "$BIN" -- /work/script1
	holds "a script for /proc/1/exe ends with an error" test "$RC" != 0
	inside -- /proc/self/exe
	holds "/proc/self/exe as the command ends with an error" test "$RC" != 0
	inside -- /proc/1/exe run -- true
	holds "/proc/1/exe as the command ends with an error" test "$RC" != 0
}

from_host()
{
	local to from attacker

	inside_start SLEEPER -- tail -f /dev/null
	guest_of SLEEPER || return
	coproc ATTACKER { "$ATTACK_HOST" host "$GUEST" 2>&1; }
	attacker=$ATTACKER_PID
	exec {to}>&"${ATTACKER[1]}" {from}<&"${ATTACKER[0]}"
	OUT=$EVIDENCE/host.door
	sed '/^ready/q' <&"$from" >"$OUT"
	sandbox_end SLEEPER
	echo go >&"$to"
	cat <&"$from" >>"$OUT"
	wait "$attacker"
	exec {to}>&- {from}<&-
	KIND=WRITE shut running ended
}

attack()
{
	attack_build
	as_command
	inside --dir "$BIN" -- "$ATTACK"
	ran
	KIND=WRITE shut exe-of-1
	inside --dir "$BIN" -- "$ATTACK" many
	ran
	KIND=WRITE shut exe-of-1
	# Only root may look at a process that is not dumpable.
	[ "$EUID" = 0 ] && from_host
}

run_case
