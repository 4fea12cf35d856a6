#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: close-fds, pivot, ref-bwrap
#
# A file, a directory, a pipe or a socket that was open when pinfold started would be a way out that
# no namespace closes. The launcher leaves 20 open (tests/lib/launch.c); some of them hold a canary.
. "$(dirname "$0")/../lib/escape.sh"

claim "A08 no inherited descriptor is open inside"

# ways_out PID: its open directories from which `..` leads to the root of the host, through whatever
# mount, attached or not.
ways_out()
{
	local fd root up=/../../../../../../../../../..

	root=$(stat -c %d:%i /)
	for fd in "/proc/$1/fd/"*; do
		[ "$(stat -L -c %d:%i "$fd$up" 2>/dev/null)" = "$root" ] &&
			echo "${fd##*/} is $(readlink "$fd")"
	done
}

attack()
{
	# ls itself opens 3 to read the directory.
	inside -- ls /proc/self/fd
	ran
	same "descriptors of the first process" "$(tr '\n' ' ' <"$OUT")" "0 1 2 3 "

	attack_build
	inside --dir "$BIN" -- "$ATTACK"
	ran
	shut all

	# Our own init inside: its table must not be readable; where it is, it holds no host object.
	inside -- bash -c 'ls -l /proc/1/fd 2>&1 | sed "s/.*-> //"; ls /proc/1/fd/* >/dev/null 2>&1 &&
		cat /proc/1/fd/[3-9] /proc/1/fd/[12]? 2>/dev/null </dev/null; true'
	ran
	absent "init shows a host directory" "$PROJECT_DIR"
	same "what init's table shows of the host" "$(grep -acE '^/(root|etc|srv)?$' "$OUT")" 0

	# The same from outside: what PID 1 holds is one bug in it away from everybody inside.
	[ "$EUID" = 0 ] || return 0
	inside_start SLEEPER --dir "$W" -- tail -f /dev/null
	guest_of SLEEPER || return
	same "descriptors of PID 1 that lead to the host's root" "$(ways_out "$GUEST")" ""
	sandbox_end SLEEPER
}

run_case
