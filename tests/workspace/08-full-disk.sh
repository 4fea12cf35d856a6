#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The disk with the data directory is full, to the last block: what only looks still works, what gives room
# back does, too, again and again; what needs room says so, with what to do about it; and nothing is lost.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"

FILL=0

# fill: leave no block, and nothing of one that is in use already.
fill()
{
	head -c 64M /dev/zero >"$M/full/fill.$((++FILL))" 2>/dev/null
	for _ in $(seq 60); do
		pinfold snap demo
		[ "$RC" = 0 ] || return
	done
}

# disk KIND: a small one for the data directory.
disk()
{
	mkdir -p "$M/full"
	if [ "$1" = tmpfs ]; then
		mount -t tmpfs -o size=16m,mode=0700 none "$M/full" || return
	else
		truncate -s 24M "$M/image"
		mkfs.ext4 -q -m 0 "$M/image" && mount -o loop "$M/image" "$M/full" || return
		chmod 0700 "$M/full"
		own "$M/full"
		rmdir "$M/full/lost+found" 2>/dev/null
	fi
	own "$M/full"
	CALL_WRAP=(/usr/bin/env "PINFOLD_HOME=$M/full")
	pinfold new demo
	sh_in demo 'echo one >one'
	sh_in demo 'echo two >two; head -c 1M /dev/zero >big'
	pinfold fork demo twin
	sh_in twin 'head -c 1M /dev/urandom >other'
	check "$1: a little is kept in reserve" wait_for 20 test -s "$M/full/reserve"
}

looking()
{
	local verb

	for verb in ls "ls --sizes" "info demo" "log demo" "diff --command 3 demo" "diff demo 1 3" doctor; do
		# shellcheck disable=SC2086 # two words
		pinfold $verb
		check "$1: $verb works" test -s "$OUT" -a "$RC" -lt 125
	done
	pinfold cp demo:one "$M/run/one"
	exits 0 "$1: a file can be copied out"
	check "$1: whole" test "$(cat "$M/run/one")" = one
	pinfold fsck
	exits 0 "$1: fsck"
}

# no_room CLAIM: the last call was refused, and said how there will be room.
no_room()
{
	check "$1 is refused" test "$RC" = 125
	says '^pinfold: limit_exceeded(\.[a-z]+)?: .*(full|No space left)' "$1: for want of room"
	says '^pinfold: remedy: .*pinfold rm' "$1: with a remedy"
}

refused()
{
	fill
	ws demo true
	no_room "$1: exec"
	pinfold new third
	no_room "$1: new"
	echo x >"$M/run/x"
	pinfold cp "$M/run/x" demo:
	no_room "$1: cp into it"
}

gives_back()
{
	local i

	pinfold undo demo
	exits 0 "$1: undo"
	for i in 1 2 3; do
		pinfold rollback demo 3
		pinfold undo demo
	done
	exits 0 "$1: undo, many times"
	fill
	pinfold gc --undone --json
	exits 0 "$1: gc"
	pinfold rm twin
	exits 0 "$1: rm"
	check "$1: it really gave room back" test "$(stat -f -c %a "$M/full")" -gt 100
	ws demo cat one
	prints one "$1: then commands run again"
	sh_in demo 'ls | tr "\n" " "'
	prints "one " "$1: and all is as it was left"
	fill
	rm -f "$M/full"/store.db-shm
	pinfold ls
	exits 0 "$1: a database that nobody has open"
	pinfold rm demo
	exits 0 "$1: and the last one goes"
	rm -f "$M/full"/fill.*
	pinfold verify
	exits 0 "$1: the ledger is whole"
	pinfold fsck
	exits 0 "$1: fsck is clean"
}

# A command fills the disk itself: what it wrote is kept, and can be undone.
filled()
{
	rm -f "$M/full"/fill.*
	pinfold new greedy
	sh_in greedy 'echo kept >kept'
	wait_for 20 test -s "$M/full/reserve"
	pinfold exec --json greedy -- sh -c 'head -c 64M /dev/urandom >all; echo $?'
	exits 0 "$1: a command that fills the disk"
	doc_is disk 'd["limit"]["kind"]' "$1: is told of the limit"
	doc_has '"data directory" in d["limit"]["hint"]' "$1: which is the host's"
	pinfold log greedy --json
	doc_is '["exec", "exec", "new"]' '[s["kind"] for s in d["items"]]' "$1: it is in the log"
	pinfold undo greedy
	exits 0 "$1: and can be undone"
	pinfold gc --undone
	ws greedy cat kept
	prints kept "$1: with what was there before"
	pinfold rm greedy
}

# The directory of a pull is on a disk that is too small, and the data directory elsewhere.
pulled()
{
	rm -f "$M/full"/fill.*
	CALL_WRAP=()
	pinfold new far
	sh_in far 'for i in 1 2 3 4 5; do head -c 5M /dev/urandom >f$i; done; echo small >s'
	mkdir "$M/full/to"
	own "$M/full/to"
	pinfold pull far "$M/full/to"
	refuses limit_exceeded f "$1: a pull for which there is no room"
	says '^pinfold: remedy: make room where the directory is' "$1: with its own remedy"
	check "$1: and nothing is written" test -z "$(ls -A "$M/full/to")"
	sh_in far 'rm f2 f3 f4 f5; echo changed >s'
	pinfold pull far "$M/full/to"
	exits 0 "$1: one for which there is"
	check "$1: with files whole" test "$(cat "$M/full/to/s") $(stat -c %s "$M/full/to/f1")" = "changed 5242880"
	check "$1: and no others" test "$(ls -A "$M/full/to" | wc -l)" = 2
	pinfold rm far
	rm -r "$M/full/to"
}

checks()
{
	local kind

	[ "$EUID" = 0 ] || { skip "a full disk [$MODE]" "only root can mount a small one"; return; }
	for kind in tmpfs ext4; do
		disk "$kind" || { skip "$kind [$MODE]" "cannot be mounted here"; continue; }
		fill
		looking "$kind"
		refused "$kind"
		gives_back "$kind"
		filled "$kind"
		pulled "$kind"
		CALL_WRAP=()
		wait_for 10 umount "$M/full"
	done
}

run_checks
