#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Who was stopped goes on where he was (--cursor-file), in every chain, and misses nothing; rows that a filter
# found say which command it was, and by what they were found.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"
. "$(dirname "$0")/../lib/daemon.sh"

# chain NAME: a chain of a tenant's in the same data directory.
chain()
{
	mkdir -p "$M/home/tenants/$1"
	own "$M/home/tenants" "$M/home/tenants/$1"
	CALL_WRAP=(/usr/bin/env "PINFOLD_HOME=$M/home/tenants/$1")
	pinfold new "$1-$2"
	CALL_WRAP=()
}

# One who follows is killed at a random moment while others write.
killed()
{
	local round

	rm -f "$W/seen"
	for round in 1 2 3 4; do
		call_start FOLLOW audit --follow --all --json --cursor-file "$W/killed"
		inside -- true
		chain b "$round"
		[ "$round" = 1 ] && wait_for 5 grep -q ledger.start "$FOLLOW_OUT"
		kill "$FOLLOW_PID" # nobody catches it
		inside_wait FOLLOW
		cat "$FOLLOW_OUT" <(echo) >>"$W/seen" # its last line may be half a line
	done
	pinfold audit --all --json --cursor-file "$W/killed"
	cat "$OUT" >>"$W/seen"
	pinfold audit --all --json
	check "who is killed and goes on has heard everything" test -z "$(grep -vFxf "$W/seen" "$OUT")"
}

goes_on()
{
	local first

	inside -- true
	chain a 1
	pinfold audit --all --json --cursor-file "$W/place"
	exits 0 "a file that is not there is made"
	first=$OUT
	check "and all is printed" test "$(wc -l <"$first")" -ge 5
	check "it is private" test "$(stat -c %a "$W/place")" = 600
	pinfold audit --all --json --cursor-file "$W/place"
	check "nothing is printed twice" test ! -s "$OUT"
	inside -- true
	chain a 2
	pinfold audit --all --json --cursor-file "$W/place"
	check "what is new in two chains" test "$(wc -l <"$OUT")" = 4
	check "is told" test -z "$(grep -Fxf "$first" "$OUT")"
	chain later 1
	pinfold audit --all --json --cursor-file "$W/place"
	check "a chain that began since is told from its beginning" grep -q '"kind":"ledger.start"' "$OUT"
	printf 'no place\n' >"$W/bad"
	own "$W/bad"
	pinfold audit --cursor-file "$W/bad"
	refuses invalid_argument "no place" "a file that has no place in it"
	pinfold audit --cursor-file "$W/none/place"
	exits 125 "a file that cannot be made"
}

rows()
{
	local want

	inside --json -- sh -c 'echo 1 >one; mkdir d; echo 2 >d/two'
	inside -- /usr/bin/python3 -I -c 'import socket
try:
    socket.create_connection(("203.0.113.7", 81), 2)
except OSError: pass'
	pinfold audit --path /home/user/one
	check "a row that was found by a file has the command" grep -qF 'sh -c echo 1 >one' "$OUT"
	check "and the change" grep -qF ': added /home/user/one' "$OUT"
	pinfold audit --path /home/user/d/
	check "below a directory" grep -qF ': added /home/user/d/two' "$OUT"
	check "nothing else" test -z "$(grep -F '/home/user/one' <(sed 's/.*: //' "$OUT"))"
	for want in two d/two './d/t?o' '*wo' '/home/*/d' '/**/two'; do
		pinfold audit --path "$want"
		check "--path $want, too" test "$(grep -o ': added /.*' "$OUT" | grep -c two)" = 1
	done
	for want in wo /two 'o*e/d' '/home/*wo'; do
		pinfold audit --path "$want"
		check "--path $want finds nothing" test ! -s "$OUT"
	done
	pinfold audit --host 203.0.113.7
	check "one that was found by a host has the command" grep -qF '/usr/bin/python3 -I -c' "$OUT"
	check "and what became of it" grep -qF ': refused connect 203.0.113.7:81' "$OUT"
	pinfold audit --since "$(date -u -d '+1 second' +%Y-%m-%dT%H:%M:%SZ)" --host 203.0.113.7
	check "one that is not asked for is not there" test ! -s "$OUT"
	inside --json -- sh -c 'i=0; while [ $i -lt 30 ]; do : >file-$i; i=$((i+1)); done'
	pinfold audit --path /home/user/file-29
	check "one that is in a part of a long list" grep -qF 'added /home/user/file-29' "$OUT"
	check "has the command, too" grep -qF 'while [ $i -lt 30 ]' "$OUT"
}

# A monitor hears of something while the run goes on, and stops it.
monitor()
{
	local who='import json, sys; print(json.loads(open(sys.argv[1]).readline())["sandbox"])'

	daemon_start --warm 1 --warm-python 0 --warm-r 0
	call_start FOLLOW audit --follow --kind alert --json
	inside_start BAD --daemon --limits best-effort --json -- sh -c 'unshare -r true; exec tail -f /dev/null'
	check "a monitor hears what a run does while it does it" wait_for 10 grep -q '"rule":"escape"' "$FOLLOW_OUT"
	pinfold kill "$(/usr/bin/python3 -I -c "$who" "$FOLLOW_OUT")"
	exits 0 "and stops it by its sandbox"
	inside_wait BAD
	exits 137 "which was killed"
	kill "$FOLLOW_PID"
	inside_wait FOLLOW
	daemon_stop
}

checks()
{
	goes_on
	monitor
	killed
	rows
}

run_checks
