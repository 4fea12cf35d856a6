#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A snapshot while a command is running: root's stands still for a moment, by its control group; where
# there is none, it is refused.
. "$(dirname "$0")/../lib/cli.sh"

# started: the command in the background has got as far as it should.
started()
{
	grep -q started "$RUN_OUT"
}

run_in_background()
{
	call_files exec w
	RUN_OUT=$OUT
	call_argv
	"${CALL[@]}" exec w -- sh -c "$1" >"$OUT" 2>"$ERR" {LIVE_FD}>&- &
	BACKGROUND+=("$!")
	RUN_CALL=$!
	wait_for 10 started
}

stands_still()
{
	pinfold snap w mid
	exits 0 "a snapshot while a command is running"
	says 'it stood still for' "and it says so"
	pinfold snap --json w
	check "as a document, too" python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
assert d["stopped_ms"] > 0 and d["kind"] == "snap" and not d["current"], d' "$OUT"
	pinfold snap w mid
	refuses conflict mid "its label is taken"
	wait "$RUN_CALL"
	check "the command ended well" test "$?" = 0
	pinfold exec w -- sh -c 'cat a all | md5sum; ls d'
	cp "$OUT" "$W/after"
	check "its own changes are all there" grep -q y "$W/after"
	pinfold rollback w mid
	pinfold exec w -- sh -c 'cat a; test -e d/y && echo there; wc -l <all; tail -n 1 all'
	check "the snapshot has what was there" grep -q '^2$' "$OUT"
	# A line is appended and its number written beside it: at one instant they cannot differ by more
	# than the line that is being written.
	check "and is one instant" python3 -c '
import sys
words = open(sys.argv[1]).read().split()
count, last = int(words[-2]), int(words[-1])
assert words[1] == "there" and 0 <= count - last <= 1, words' "$OUT"
	pinfold undo w 4
	pinfold exec w -- sh -c 'cat a; ls'
	prints $'1\na' "undo goes back to before the command"
}

checks()
{
	pinfold new w
	pinfold exec w -- sh -c 'echo 1 >a'
	run_in_background 'echo 2 >a; mkdir d; echo x >d/y; i=0; echo started
		while [ ! -e /tmp/stop ] && [ $i -lt 20000 ]; do i=$((i + 1)); echo $i >>all; done'
	if [ "$MODE" = R ]; then
		stands_still
		return
	fi
	pinfold snap w mid
	refuses busy w "without a control group it is refused"
	kill "$RUN_CALL" 2>/dev/null
	wait "$RUN_CALL"
}

run_checks
