#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Disk limits of workspaces where the filesystem of the data directory has project quotas: ext4, and
# xfs where the host of this guest could make one.
. "$(dirname "$0")/vm.bash"

T=$(mktemp -d)
MIB=1048576

# in_ NAME ARG...: pinfold exec --json. Sets DOC and STATUS.
in_()
{
	local name=$1

	shift
	DOC=$(timeout -s KILL "$CALL_SECONDS" pinfold exec --json "$name" "$@" 2>"$T/err" </dev/null)
	STATUS=$?
	NOTES=$(cat "$T/err")
}

fill='dd if=/dev/zero of=$1 bs=64k count=$2 2>/dev/null; s=$?; stat -c %s $1; exit $s'

undo_all()
{
	while pinfold undo "$1" >/dev/null 2>&1; do :; done
}

# Of the output: the first number.
said()
{
	[[ $DOC =~ \"text\":\"([0-9]+) ]] && echo "${BASH_REMATCH[1]}"
}

holds()
{
	local fs=$1

	like "$(pinfold doctor)" 'ok +disk quotas +project quotas hold' "$fs: doctor says so"
	pinfold new --disk 8M --inodes 200 demo
	in_ demo -- true
	is "$(held_by disk) $STATUS" "quota 0" "$fs: the quota holds the limit"

	in_ demo -- sh -c "$fill" sh a 1000
	is "$STATUS $(field status)" "1 exited" "$fs: who writes too much is told, not killed"
	between "$(said)" $((7 * MIB)) $((8 * MIB)) "$fs: what fits was written"
	is "$(limit)" "disk $((8 * MIB))" "$fs: limit disk"
	like "$DOC" 'raise it with pinfold limit --disk' "$fs: and how it is raised"
	in_ demo -- sh -c "$fill" sh more 10
	is "$((STATUS != 0))" 1 "$fs: a full workspace takes no more"

	undo_all demo
	in_ demo -- sh -c "$fill" sh a 80
	is "$STATUS $(said)" "0 $((5 * MIB))" "$fs: what was undone made room"
	in_ demo -- sh -c "$fill" sh b 80
	is "$STATUS $(limit)" "1 disk $((8 * MIB))" "$fs: layers that were frozen before count"
	between "$(said)" $((2 * MIB)) $((3 * MIB)) "$fs: the rest of it was there"
	pinfold undo demo >/dev/null

	in_ demo -- sh -c 'df -k /home/user | tail -n 1 | { read -r d all rest; echo $all; }'
	between "$(said)" 8000 8400 "$fs: df inside shows the limit"
	in_ demo -- sh -c 'i=0; while [ $i -lt 300 ]; do : >f$i || exit 9; i=$((i + 1)); done'
	is "$(field status) $((STATUS != 0))" "exited 1" "$fs: too many files: told"
	is "$(limit)" "disk 200" "$fs: too many files: limit"
	pinfold undo demo >/dev/null

	pinfold limit demo --disk 32M
	in_ demo -- sh -c "$fill" sh b 160
	is "$STATUS $(said)" "0 $((10 * MIB))" "$fs: a raised limit holds for the next command"
}

# Files that belong to the quota cannot be taken out of it from inside.
attacks()
{
	local fs=$1 before after

	pinfold new --disk 4M hostile
	in_ hostile -- sh -c 'mkdir d && chattr -p 0 d; chattr -P d; chattr -p 0 .; chattr -P .; lsattr -pd .'
	before=$DOC
	in_ hostile -- sh -c "$fill" sh d/x 200
	is "$STATUS $(limit)" "1 disk $((4 * MIB))" "$fs: its number cannot be changed inside"
	[ "$STATUS" = 1 ] || diag "$before"
	undo_all hostile
	in_ hostile -- sh -c 'exec 3>x; rm x; dd if=/dev/zero bs=64k count=200 2>/dev/null >&3; exit $?'
	is "$STATUS" 1 "$fs: a file without a name counts"
	undo_all hostile
	in_ hostile -- sh -c 'fallocate -l 64M x; exit $?'
	is "$((STATUS != 0))" 1 "$fs: nor is room reserved that is not there"
	undo_all hostile

	# Two at once have one limit.
	for i in 1 2; do
		pinfold exec --share hostile -- sh -c "$fill" sh "f$i" 50 </dev/null >"$T/f$i" 2>/dev/null &
	done
	wait
	after=$(($(tail -n 1 "$T/f1") + $(tail -n 1 "$T/f2")))
	between "$after" $((3 * MIB)) $((4 * MIB)) "$fs: two who share it have no more together"
}

# Merging links files of one project into a layer of none; histories longer than a mount.
merges()
{
	local fs=$1 i good=0

	pinfold new --disk 16M long
	for i in $(seq 20); do
		pinfold exec long -- sh -c "mkdir -p d$((i % 3)); echo $i >d$((i % 3))/f$i" \
			</dev/null >/dev/null 2>&1 && good=$((good + 1))
	done
	in_ long -- sh -c 'cat d*/f* | sort -n | tail -n 1'
	is "$good $(said)" "20 20" "$fs: twenty commands, merged"
	in_ long -- sh -c 'mv d0 e0 && mv e0/f3 d1/ && ln d1/f3 d2/f3 && cat d2/f3'
	is "$STATUS $(said)" "0 3" "$fs: moved and linked"
	pinfold fork long twin
	in_ twin -- sh -c "$fill" sh x 300
	is "$STATUS $(limit)" "1 disk $((16 * MIB))" "$fs: a fork has a limit of its own"
	like "$(pinfold fsck)" 'clean' "$fs: fsck is content"
}

released()
{
	local fs=$1 name pid

	pinfold exec demo -- sleep "$MARK" </dev/null >/dev/null 2>&1 &
	pid=$!
	wait_for 20 marked
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
	wait_for 10 no_processes
	in_ demo -- true
	is "$STATUS $(held_by disk)" "0 quota" "$fs: killed at work: the next one finds it as it was"
	[ "$STATUS" = 0 ] || diag "$DOC" "$(sandbox_processes)"
	for name in demo hostile long twin; do
		pinfold rm "$name"
	done
	pinfold gc >/dev/null
	pinfold new fresh
	pinfold exec fresh -- true </dev/null
	pinfold gc >/dev/null
	is "$(projects "$PINFOLD_HOME" | grep -c .)" 1 "$fs: a removed workspace has no limit and no file left"
	pinfold rm fresh
}

# one FS DEVICE OPTION
one()
{
	mkdir -p "/mnt/$1"
	mount -t "$1" -o "$3" "$2" "/mnt/$1" || { not_ok "$1 with $3 is mounted"; return; }
	export PINFOLD_HOME=/mnt/$1/data
	holds "$1"
	attacks "$1"
	merges "$1"
	released "$1"
	wait_for 20 umount "/mnt/$1" # until nobody settles there
}

one ext4 /dev/vda prjquota
[ ! -e /dev/vdb ] || one xfs /dev/vdb pquota

mount -t ext4 /dev/vda /mnt/ext4
export PINFOLD_HOME=/mnt/ext4/data
pinfold new plain
in_ plain -- true
is "$(held_by disk) $STATUS" "polled 0" "mounted without: polled, and it says so"
like "$(pinfold doctor)" 'disk quotas +the disk limits of workspaces are polled.*prjquota' "mounted without: doctor says what would help"
rm -rf "$T"
done_testing
