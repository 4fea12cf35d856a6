#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: ledger-signed
#
# L03: whatever is done to the files of a ledger is found, and pinfold verify names the place. Every byte
# is flipped in tests/unit/ledger_verify.c; here are the ways of a person.
. "$(dirname "$0")/../lib/cli.sh"

# spoiled NAME PLACE COMMAND...: what the command does to a copy, in its directory, is found there.
spoiled()
{
	local name=$1 where=$2 dir=$M/copy

	shift 2
	rm -rf "$dir"
	cp -r "$M/good" "$dir"
	(cd "$dir" && "$@")
	own -R "$dir" 2>/dev/null || chown -R --reference="$M/good" "$dir"
	pinfold verify --ledger "$dir" --key "$M/good/key.pem" --anchor "$M/good/anchor"
	check "$name is found" test "$RC" = 1
	check "$name: the place is named" grep -qE "NOT GOOD at event [0-9]+: $where" "$OUT"
}

other_ledger()
{
	CALL_WRAP=(/usr/bin/env "PINFOLD_HOME=$M/other")
	inside -- true
	inside -- true
	inside -- true
	CALL_WRAP=()
	wait_for 10 test -s "$M/other/ledger/checkpoints"
}

checks()
{
	inside -- true
	inside -- sh -c 'exit 1'
	wait_for 10 test -s "$M/home/ledger/checkpoints"
	pinfold receipt "$(sed -n 's/.*"run":"\([^"]*\)".*/\1/p' "$M/home/ledger/events" | head -1)"
	cp -r "$M/home/ledger" "$M/old"
	inside -- true
	pinfold receipt "$(sed -n 's/.*"run":"\([^"]*\)".*/\1/p' "$M/home/ledger/events" | tail -1)"
	cp -r "$M/home/ledger" "$M/good"
	tail -n 6 "$M/good/checkpoints" >"$M/good/anchor"
	chown -R --reference="$M/home/ledger" "$M/good" "$M/old"
	other_ledger
	pinfold verify --ledger "$M/good" --key "$M/good/key.pem" --anchor "$M/good/anchor"
	exits 0 "before all that it is good"
	spoiled "a word that is another" "(events, line 4|checkpoints, note 1)" sed -i '3s/"status":"exited"/"status":"failed"/' events
	spoiled "a line that is gone" "events, line 3" sed -i 3d events
	spoiled "a line that is there twice" "events, line 4" sed -i '3p' events
	spoiled "lines in another order" "events, line 3" sed -i '3{h;d};4{G}' events
	spoiled "an end that is gone" "checkpoints, note [0-9]+" sed -i '$d' events
	spoiled "an end that is cut" "checkpoints, note [0-9]+" truncate -s -9 events
	spoiled "an end that is gone with its checkpoint" "the end" sh -c 'sed -i "\$d" events
		head -n -6 checkpoints >c && mv c checkpoints'
	spoiled "an event of another chain" "events, line 8" sh -c 'sed -n 3p "$1" >>events' - "$M/other/ledger/events"
	spoiled "a forged signature" "checkpoints, note [0-9]+" sh -c 'sed -i "\$!b" checkpoints
		sed -i "s/^\(— [^ ]* \)......\(.*\)/\1AAAAAA\2/" checkpoints'
	spoiled "an older copy" "the end" sh -c 'cp "$1"/* .' - "$M/old"
	cp -r "$M/good" "$M/bare"
	rm "$M/bare/checkpoints"
	chown -R --reference="$M/good" "$M/bare"
	check "checkpoints that are gone, all of them, are missed after ten seconds" wait_for 30 bare
	check "the place is named" grep -q "NOT GOOD at event 0: checkpoints: none covers the [0-9]* events since 20" "$OUT"
	pinfold verify --ledger "$M/bare" --anchor "$M/good/anchor"
	exits 0 "one that was kept elsewhere takes their place"
	spoiled "a key that was added to the list" "keys: it lists a key that is none" sh -c 'cat "$1" >>keys' - "$M/other/ledger/keys"
	spoiled "a list of other keys" "keys: it does not list" cp "$M/other/ledger/keys" keys
	spoiled "a file that is empty" "events.000000000000099: it is empty" touch events.000000000000099
	spoiled "a file with the name of another" "events.000000000000003, line 1: the file has the name of another" \
		sh -c 'mv events events.000000000000003; touch events'
	twins
	spoiled "a chain of somebody else's" "(the key|the end|the checkpoint)" sh -c 'cp "$1"/* .' - "$M/other/ledger"
}

# A chain in the place of another's: each is good by itself.
twins()
{
	mkdir -p "$M/home/tenants/gone"
	cp -r "$M/home/ledger" "$M/home/tenants/gone/ledger"
	chown -R --reference="$M/home/ledger" "$M/home/tenants"
	pinfold verify
	check "a chain that is there twice is found" test "$RC" = 1
	check "with whose place it has" grep -q 'tenants/gone/ledger: .* NOT GOOD .*: ledger is the same' "$OUT"
	rm -r "$M/home/tenants"
}

# bare: it has no checkpoint left, and a copy of it is not good.
bare()
{
	pinfold verify --ledger "$M/bare"
	[ "$RC" = 1 ]
}

run_checks
