#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# E02 for every verb that reads a workspace: while a command in it swaps a directory for a link that leads,
# on the host, to a secret, and after it left the link behind, no verb shows anything of it.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"

SECRET=from-outside-4712

SWAP='import ctypes, os, sys
libc = ctypes.CDLL(None)
os.mkdir("sub")
os.mkdir("sub/deep")
for i in range(8):
    open(f"sub/deep/f{i}", "w").write("inside\n" * 100)
os.symlink(sys.argv[1], "evil")
print("ready", flush=True)
while True:
    libc.renameat2(-100, b"sub", -100, b"evil", 2)'

# Of the layer that is open, as a program does that trusts paths.
naive()
{
	local at=$1/root/home/user/sub i

	for i in 0 1 2 3 4 5 6 7; do
		[ ! -L "$at" ] && grep -qs "$SECRET" "$at/deep/f$i" && return 0
	done
	return 1
}

# verb ARG...: and whether the secret is in what it said or wrote.
verb()
{
	rm -rf "$W/got"
	mkdir "$W/got"
	own "$W/got"
	pinfold "$@"
	grep -rqs "$SECRET" "$OUT" "$ERR" "$W/got" && SEEN="$SEEN $1"
	[ "$RC" = 0 ] || FAILED="$FAILED $1:$RC"
}

all_verbs()
{
	SEEN='' FAILED=''
	verb export -o "$W/got/all.tar" w
	verb export --layer w
	verb diff w
	verb diff --json w 1
	verb log --json --all w
	verb info --json w
	verb ls --json --sizes
	verb cp "w:$1" "$W/got/copy"
	verb cp w:. "$W/got/home"
	verb pull w "$W/got/pulled"
	verb fork w forked
	verb export forked
	verb rm forked
}

checks()
{
	local layer until naive=0 link

	mkdir -p "$W/outside/deep"
	for i in 0 1 2 3 4 5 6 7; do
		echo "$SECRET" >"$W/outside/deep/f$i"
	done
	chmod -R a+rX "$W/outside"
	fresh w
	sh_in w 'mkdir -p base/sub; echo 1 >base/sub/one'
	call_start SWAPS exec w -- python3 -c "$SWAP" "$W/outside"
	ready SWAPS
	layer=$M/home/layers/$(sql 'SELECT id FROM layer WHERE state = 0')
	until=$((SECONDS + 5))
	while [ "$naive" = 0 ] && [ "$SECONDS" -lt "$until" ]; do
		naive "$layer" && naive=1
	done
	check "a naive reader is led out" test "$naive" = 1
	all_verbs base
	check "no verb is, while it is swapped" test -z "$SEEN"
	check "nor fails for it" test -z "$FAILED"
	SEEN=''
	for i in 1 2 3; do
		verb snap w
		[ "$RC" = 0 ] && verb export --at "$(cat "$OUT")" w
	done
	check "nor a snapshot that is taken meanwhile" test -z "$SEEN"
	kill -INT "$SWAPS_PID"
	inside_wait SWAPS
	verb exec w -- sh -c 'rm -rf sub evil; ln -s "$1" sub; mkdir evil' sh "$W/outside"
	all_verbs sub
	check "nor one at rest, with the link left behind" test -z "$SEEN"
	check "nor fails" test -z "$FAILED"
	SEEN='' FAILED=''
	verb fsck
	verb gc --undone
	verb fsck
	check "nor is it in what fsck and gc say" test -z "$SEEN$FAILED"
	link=$(readlink "$M"/home/layers/*/root/home/user/sub | sort -u)
	check "and the link is what it was" test "$link" = "$W/outside"
	check "what it leads to is, too" test "$(cat "$W"/outside/deep/* | sort -u)" = "$SECRET"
	pinfold rm w
}

run_checks
