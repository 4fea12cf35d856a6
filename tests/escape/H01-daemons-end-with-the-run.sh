#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: lifeline
#
# What forks away from its parent, session and process group, ignores all signals and closes its
# descriptors is out of reach of every way to end a tree of processes by walking it. When the run is
# reported ended nobody may be left: the harness looks in the same moment, not after a pause.
. "$(dirname "$0")/../lib/escape.sh"

claim "H01 daemons are gone when the run is reported ended"

attack()
{
	INSIDE_GRACE_MS=0
	attack_build
	inside --dir "$BIN" -- "$ATTACK"
	ran 7
	same "all daemons were there" "$(cat "$OUT")" "daemons 5"
	inside_json --dir "$BIN" -- sh -c "$ATTACK; $ATTACK; exit 7"
	ran 7
	same "status" "$(json 'd["status"], d["exit_code"]')" '["exited", 7]'
	# The same when it is not the command that ends it.
	inside --time 300ms --grace 10ms --dir "$BIN" -- sh -c "$ATTACK; mkfifo /tmp/f; read x <>/tmp/f"
	ran 124
	inside --pty --dir "$BIN" -- "$ATTACK"
	ran 7
	# And when pinfold itself is gone.
	EXPECT_SIGNAL=1
	INSIDE_GRACE_MS=20000
	inside_start DEAD --dir "$BIN" -- sh -c "$ATTACK; mkfifo /tmp/f; read x <>/tmp/f"
	wait_for 5 grep -q daemons "$DEAD_OUT"
	kill -KILL "$DEAD_PID"
	inside_wait DEAD
	same "killed" "$RC" 137
	inside -- true
	ran
}

run_case
