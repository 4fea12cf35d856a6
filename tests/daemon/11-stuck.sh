#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A caller who sends a file of a file system that never answers holds up nobody but himself.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"

# Users whom nobody else is: a number is enough.
ONE=64221
TWO=64222

# A user of root's daemon against another. A daemon of one's own has no other.
checks()
{
	[ "$MODE" = R ] || return
	if ! [ -e /dev/fuse ]; then
		skip "a file system that does not answer [$MODE]" "no /dev/fuse on this host"
		return
	fi
	daemon_start --warm 1 --warm-python 0
	chmod 0711 "$M/run"
	chmod 0666 "$M/run/daemon.sock"
	session_compile "$(dirname "$0")/stuck.c" -D_GNU_SOURCE
	install -d -o $ONE "$W/stuck"
	setsid "$COMPILED" $ONE "$W/stuck" "$M/run/daemon.sock" >"$W/stuck.out" 2>&1 &
	STUCK=$!
	check "he has sent it" wait_for 10 grep -q '^sent$' "$W/stuck.out"
	check "its close is asked for" wait_for 10 grep -q '^flush$' "$W/stuck.out"
	call_by $TWO
	inside --daemon -- echo alive
	prints alive "another user goes on"
	call_by $ONE
	inside --daemon -- true
	refuses denied "sent what none of ours does" "he himself is not listened to any more"
	inside --no-daemon --limits best-effort -- echo mine
	prints mine "but has what is his own"
	CALL_WRAP=()
	kill -9 -- "-$STUCK"
	wait "$STUCK" 2>/dev/null
	daemon_stop
	exits 0 "the daemon ends"
	check "nothing is left" nothing_left
}

run_checks
