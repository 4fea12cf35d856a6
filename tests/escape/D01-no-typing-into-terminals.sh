#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seccomp, stdio+seccomp, session+seccomp, ref-bwrap
#
# TIOCSTI puts characters into a terminal as if they had been typed: code in bubblewrap without
# --new-session typed a command into the shell of whoever had started it. No terminal of the host is
# in reach, and on the sandbox's own the call is refused.
. "$(dirname "$0")/../lib/escape.sh"

claim "D01 nothing inside can type into a terminal"

DOORS="stdin stdin-high stdout stdout-high stderr stderr-high tty tty-high console tty0 own
	own-high"

# On a terminal: whatever it gets is the output, and nobody may have typed.
on_terminal()
{
	: >"$EVIDENCE/terminal"
	INSIDE_OUTER=(/usr/bin/python3 -I "${CASE_FILE%/*}/D-terminal.py" "$EVIDENCE/terminal")
	inside "$@"
	INSIDE_OUTER=()
	tr -d '\r' <"$OUT" >"$OUT.lines"
	OUT=$OUT.lines
	same "waiting to be read from the terminal" "$(cat "$EVIDENCE/terminal")" "typed 0"
	absent "echo of what was typed" "#typed"
}

attack()
{
	local options

	attack_build
	for options in "" --pty; do
		# shellcheck disable=SC2086
		on_terminal $options --dir "$BIN" -- "$ATTACK"
		ran
		# shellcheck disable=SC2086
		shut $DOORS
		# shellcheck disable=SC2086
		inside $options --dir "$BIN" -- "$ATTACK"
		ran
		tr -d '\r' <"$OUT" >"$OUT.lines"
		OUT=$OUT.lines
		# shellcheck disable=SC2086
		shut $DOORS
	done
}

run_case
