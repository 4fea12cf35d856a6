#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: dir-once
#
# CVE-2021-30465: one sandbox swapped the target of another's mount for a symbolic link while it was
# set up. No two sandboxes share a directory yet, and mount targets are made in a file system that
# nobody else sees. What can be raced today is the directory given with --dir: it is resolved once,
# so /work shows one whole tree, never a mix, never something else, and the host has no new mount. A
# name that is exchanged after pinfold opened it leads nowhere else: the run shows what was opened,
# or is refused.
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

# Exactly between pinfold's own look at the directory and whatever comes after it.
at_the_worst_moment()
{
	install -m 0755 "$ATTACK_HOST" "$BIN/exchange"
	INSIDE_WRAP=("$BIN/exchange" "$W/dir" "$W/other")
	inside --dir "$W/dir" -- cat /work/name
	INSIDE_WRAP=()
	holds "the names were exchanged" grep -qx exchanged "$ERR"
	checked
	case $RC:$(cat "$OUT") in
	0:honest) ;;
	125:) grep -q 'pinfold: ' "$ERR" || fell CRASH "refused without a reason" ;;
	*) fell ESCAPE "status $RC, /work shows: $(cat "$OUT")" ;;
	esac
}

attack()
{
	local i seen

	attack_build
	mkdir -p "$W/dir/sub" "$M/victim/sub"
	echo honest >"$W/dir/name"
	echo honest >"$W/dir/sub/name"
	echo victim >"$M/victim/name"
	echo victim >"$M/victim/sub/name"
	chmod -R a+rX "$M/victim" "$W/dir"
	ln -sfn ../victim "$W/other"
	grep -c . /proc/self/mountinfo >"$EVIDENCE/mounts.count"
	at_the_worst_moment
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
