#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Many sandboxes that wait: they leave enough of everything to those who run.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"

descriptors()
{
	CALL_WRAP=(/usr/bin/prlimit --nofile=300:300)
	daemon_start --warm 200 --warm-python 0
	CALL_WRAP=()
	check "it says that not all can wait" grep -q 'no more than 300 open files' "$DAEMON_LOG"
	check "fewer do" wait_for 20 waiting_is 17
	for i in 1 2 3; do
		inside --daemon "${BEST[@]}" -- echo "run $i"
		prints "run $i" "a run is served all the same, $i of 3"
	done
	check "no other complaint" test "$(wc -l <"$DAEMON_LOG")" = 3 # serving, HTTP, and that
	daemon_stop
	exits 0 "it ends"
}

hundred()
{
	daemon_start --warm 100 --warm-python 0
	check "a hundred wait" wait_for 60 waiting_is 100
	inside_json --daemon "${BEST[@]}" -- true
	json_is warm 'd["start"]' "one of them is taken"
	check "and replaced" wait_for 20 waiting_is 100
	daemon_stop
	exits 0 "it ends"
	check "nothing is left" nothing_left
}

checks()
{
	daemon_mode
	needs /usr/bin/prlimit "few descriptors" && descriptors
	hundred
}

run_checks
