#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seccomp, session, stdio, ref-bwrap
#
# The terminal that pinfold was started on, the host's console and its paste buffer (TIOCLINUX),
# other sessions' terminals: none is a descriptor, has a name or can be taken inside. A sandbox has
# pipes, or with --pty a terminal in a directory of its own.
. "$(dirname "$0")/../lib/escape.sh"

claim "D02 no terminal of the host is in reach"

DOORS="descriptor descriptor-of-init console pts tty TIOCLINUX TIOCCONS TIOCSETD TIOCSETD-high
	KDSKBMODE VT_ACTIVATE vhangup TIOCGPTPEER TIOCSCTTY"

on_terminal()
{
	: >"$EVIDENCE/terminal"
	INSIDE_OUTER=(/usr/bin/python3 -I "${CASE_FILE%/*}/D-terminal.py" "$EVIDENCE/terminal")
	inside "$@"
	INSIDE_OUTER=()
	tr -d '\r' <"$OUT" | grep -v '^pinfold: limits are' >"$OUT.lines"
	OUT=$OUT.lines
}

attack()
{
	local device options

	attack_build
	device=$(stat -c %d /dev/pts)
	for options in "" --pty; do
		# shellcheck disable=SC2086
		on_terminal $options --dir "$BIN" -- "$ATTACK" "$device" ${options:+own}
		ran
		# shellcheck disable=SC2086
		shut $DOORS
		KIND=WRITE absent "what was written to a terminal" written-by-D02
	done
	inside -- sh -c 'ls -1 /dev/pts; tty; ps -o tty= -p $$; cat /proc/self/stat | cut -d" " -f7'
	ran
	same "without a terminal" "$(tr '\n' ' ' <"$OUT")" "ptmx not a tty ? 0 "
	on_terminal --pty -- sh -c 'ls -1 /dev/pts; tty; cat /proc/self/stat | cut -d" " -f7'
	ran
	same "with a terminal of its own" "$(tr '\n' ' ' <"$OUT")" "0 ptmx /dev/pts/0 34816 "
}

run_case
