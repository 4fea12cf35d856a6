#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: landlock, nodev, ref-bwrap
#
# A device node is a name for a driver: with one for the disk, every file of the host can be read.
# None can be made, and one that came with a directory, or lies in what is shown of the host,
# cannot be opened.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "C06 no device node can be made or opened"

WORKS="fifo null zero "

attack()
{
	local dir kind doors=(make-whiteout make-zero)

	for dir in /home/user /tmp /var/tmp /run /dev/shm /work /dev /usr/bin /; do
		for kind in block mem zero whiteout; do
			doors+=("$kind-$dir")
		done
	done
	attack_build
	# Nodes that need the test's caller to make them: in the directory, and in a part of /etc
	# that is shown as it is on the host.
	if mknod -m 666 "$BIN/given" c 1 5 2>/dev/null; then
		ARGS=(/work/given /etc/ssl/given)
		doors+=(given)
		INSIDE_WORLD=1
		INSIDE_OUTER=(unshare -m --propagation private sh -c '
			mount -t tmpfs -o mode=755 none /etc/ssl &&
			mknod -m 666 /etc/ssl/given c 1 5 && exec "$@"' sh)
	fi
	all_shut "${doors[@]}"
	INSIDE_OUTER=() INSIDE_WORLD=
	# An archive with nodes, unpacked inside by who is allowed most.
	if [ ${#ARGS[@]} -gt 0 ]; then
		tar -cf "$BIN/nodes.tar" -C "$BIN" given
		inside --user root --dir "$BIN" -- sh -c 'cd /tmp && tar -xf /work/nodes.tar
			head -c 4 given | wc -c'
		[ "$MODE$RC" = U125 ] ||
			KIND=READ same "bytes from an unpacked node" "$(cat "$OUT")" 0
	fi
}

run_case
