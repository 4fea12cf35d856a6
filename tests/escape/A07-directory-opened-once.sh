#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: none: nothing to take out until two sandboxes can share a directory
#
# CVE-2021-30465: one sandbox swapped the target of another's mount for a symbolic link while it was
# set up. No two sandboxes share a directory yet, and mount targets are made in a file system that
# nobody else sees. What can be raced today is the directory given with --dir: it is resolved once,
# so /work shows one whole tree, never a mix, never something else, and the host has no new mount.
. "$(dirname "$0")/../lib/escape.sh"

claim "A07 a directory that is swapped during set-up is resolved once"

# Exchanges the two names as fast as it can.
swap()
{
	/usr/bin/python3 -I - "$W/dir" "$W/other" <<-'END' &
		import ctypes, os, sys
		libc = ctypes.CDLL(None)
		a, b = os.fsencode(sys.argv[1]), os.fsencode(sys.argv[2])
		while os.getppid() != 1:
		    libc.renameat2(-100, a, -100, b, 2)
	END
	SWAPPER=$!
	BACKGROUND+=("$SWAPPER")
}

attack()
{
	local i seen

	mkdir -p "$W/dir/sub" "$M/victim/sub"
	echo honest >"$W/dir/name"
	echo honest >"$W/dir/sub/name"
	echo victim >"$M/victim/name"
	echo victim >"$M/victim/sub/name"
	chmod -R a+rX "$M/victim" "$W/dir"
	ln -sfn ../victim "$W/other"
	grep -c . /proc/self/mountinfo >"$EVIDENCE/mounts.count"
	swap
	for i in {1..40}; do
		inside --dir "$W/dir" -- sh -c 'echo $(cat /work/name /work/sub/name /work/name)'
		seen=$(cat "$OUT")
		checked
		case $RC:$seen in
		"0:honest honest honest" | "0:victim victim victim") ;;
		125:*) ;;
		*) fell ESCAPE "try $i: status $RC, /work shows: $seen $(head -c 200 "$ERR")" ;;
		esac
	done
	kill "$SWAPPER"
	wait "$SWAPPER" 2>/dev/null
	same "mounts of the host" "$(grep -c . /proc/self/mountinfo)" "$(<"$EVIDENCE/mounts.count")"
	KIND=WRITE same "files made" "$(find "$W" "$M/victim" -type f | wc -l)" 4
}

run_case
