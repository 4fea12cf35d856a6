#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: pidfd
#
# A number is given out again when its process is gone; who kills by number kills somebody else one
# day. With kill(2) on single processes made deadly for pinfold, every way to end a run still works:
# through descriptors, control groups, and init's own "all".
. "$(dirname "$0")/../lib/escape.sh"

claim "H04 no process is ever signalled by its number"

FOREVER='mkfifo /tmp/f; read x <>/tmp/f'

attack()
{
	attack_build
	install -m 0755 "$ATTACK_HOST" "$BIN/wrap"
	INSIDE_WRAP=("$BIN/wrap")
	INSIDE_WORLD=1
	# The wrapper does what it says.
	inside -- sh -c 'kill -0 $$'
	ran 159

	inside --dir "$BIN" -- true
	ran
	inside --json -- sh -c 'exit 3'
	ran 3
	inside --time 200ms --grace 10ms -- sh -c "$FOREVER"
	ran 124
	inside --time 200ms --grace 10ms -- sh -c "trap '' TERM; $FOREVER"
	ran 124
	inside --pty --time 200ms --grace 10ms -- sh -c "$FOREVER"
	ran 124
	inside --memory 64M --time 5s -- python3 -c 'bytearray(200 << 20)'
	ran 137
	inside -- /nonexistent
	ran 127

	# What follows looks for the run's processes: in its own daemon it would not find them.
	INSIDE_WORLD=
	# An init that does not obey: stopped from outside, so that pinfold has to force it.
	inside_start DEAF --time 2s --grace 10ms -- sh -c "$FOREVER"
	guest_of DEAF || return
	kill -STOP "$GUEST"
	inside_wait DEAF
	same "forced" "$RC" 124
	# And one where the caller asks twice.
	inside_start STOPPED --grace 10s -- sh -c "trap '' TERM; $FOREVER"
	guest_of STOPPED || return
	kill -STOP "$GUEST"
	kill -TERM "$STOPPED_PID"
	kill -HUP "$STOPPED_PID"
	inside_wait STOPPED
	holds "ended by one of the two, with $RC" [ "$RC" = 143 -o "$RC" = 129 ]
}

run_case
