#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gc really gives space back, forgets no more than it is told to, and leaves nothing that is in use; what is
# said of sizes is what is on disk.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"

# on_disk: KiB of all layers.
on_disk()
{
	du -sk "$M/home/layers" | cut -f1
}

# about_right: what ls says is what du says, within a tenth and some directories.
about_right()
{
	pinfold ls --sizes --json
	doc_has 'abs(d["sizes"]["bytes"] / 1024 - int(a[0])) < 400 + int(a[0]) / 10' "$1" "$(on_disk)"
}

forgets()
{
	local i before

	fresh demo
	for i in 1 2 3 4 5 6; do
		sh_in demo 'head -c 2M /dev/urandom >big; echo $1 >f$1' "$i"
	done
	before=$(on_disk)
	check "six copies are there" test "$before" -ge 12000
	pinfold gc --json
	exits 0 "gc"
	doc_is '[1, 0, 0]' '[d["workspaces"], d["busy"], d["snapshots"]]' "forgets nothing that it is not told to"
	pinfold gc --history 1h --last 0 --json
	doc_is 0 'd["snapshots"]' "nor what is young"
	pinfold gc --history 1ms --json
	doc_is 0 'd["snapshots"]' "nor the last ten commands"
	pinfold gc --history 1ms --last 2 --json
	doc_is 4 'd["snapshots"]' "four are older than the last two"
	doc_has 'd["given_back_bytes"] > 6 * 2**20' "and their space is given back"
	check "really" test "$(on_disk)" -le $((before - 6000))
	about_right "sizes are as on disk"
	pinfold log demo --json
	doc_is '["exec", "exec", "base"]' '[s["kind"] for s in d["items"]]' "the log says where it begins"
	pinfold undo demo 2
	exits 0 "what was kept can be undone"
	sh_in demo 'ls | tr "\n" " "'
	prints "big f1 f2 f3 f4 " "and is what it was"
	pinfold undo demo 2
	refuses invalid_argument demo "and no further"
	pinfold gc --history 1ms --last 0 --undone demo
	exits 0 "as small as it gets"
	check "one copy is left" test "$(on_disk)" -le 3500
	about_right "which is counted once"
	sh_in demo 'cat f1 f4; wc -c <big'
	prints $'1\n4\n2097152' "and all files are there"
	pinfold fsck
	exits 0 "fsck is clean"
}

keeps()
{
	fresh two
	sh_in two 'head -c 1M /dev/urandom >a; sha256sum a >sum'
	pinfold snap two mark
	pinfold fork two three
	sh_in two 'rm a; echo x >b'
	sh_in two 'echo y >c'
	pinfold gc --history 1ms --last 0 --undone
	exits 0 "gc of all"
	pinfold rollback two mark
	exits 0 "what has a label is still there"
	sh_in two 'sha256sum -c --quiet sum'
	exits 0 "whole"
	ws three sha256sum -c --quiet sum
	exits 0 "and so is what was forked from it"
	pinfold ls --sizes --json
	doc_has '2**20 <= d["sizes"]["shared_bytes"] <= d["sizes"]["bytes"]' "what is shared is counted once"
	call_start BUSY exec two -- sh -c 'echo ready; exec tail -f /dev/null'
	wait_for 10 grep -q ready "$BUSY_OUT"
	pinfold gc --history 1ms --last 0 --undone --json
	doc_is 1 'd["busy"]' "one in which something runs is left"
	kill "$BUSY_PID"
	inside_wait BUSY
	pinfold gc nobody
	refuses not_found nobody "a name that is none"
	pinfold gc two three
	refuses invalid_argument three "two names"
	pinfold ls --sizes
	check "in a line" grep -q '^together .* layers, .* shared; .* free$' "$OUT"
}

checks()
{
	forgets
	keeps
}

run_checks
