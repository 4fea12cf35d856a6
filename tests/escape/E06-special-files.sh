#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: files-type, ref-naive
#
# Opening a FIFO waits for its other end: a collector that opens what it finds hangs for ever.
# Special files are listed by their type and not opened.
. "$(dirname "$0")/../lib/escape.sh"

claim "E06 FIFOs, sockets and devices do not hold up the host"

SPECIAL='mkfifo out.png fifo-in-use; (cat fifo-in-use >/dev/null &)
	mkdir -p report.json d; mkfifo d/fifo; echo x >d/file
	python3 -I -c "
import socket, os
for n, t in ((\"sock\", socket.SOCK_STREAM), (\"d/sock\", socket.SOCK_DGRAM)):
    s = socket.socket(socket.AF_UNIX, t); s.bind(n)
"
	mknod dev c 1 5 2>/dev/null && echo open mknod
	mknod white c 0 0 2>/dev/null && echo a whiteout can be made
	chmod 0 d/file 2>/dev/null; echo y >last; echo shut made'

TYPES="/d/fifo=fifo /d/file=file /d/sock=socket /d=directory /fifo-in-use=fifo /last=file"
TYPES+=" /out.png=fifo /report.json=directory /sock=socket"

attack()
{
	local dir

	INSIDE_SECONDS=80
	chmod 0777 "$W"
	for dir in /home/user /work; do
		inside_json --dir "$W" --workdir "$dir" -- sh -c "$SPECIAL"
		ran
		shut made
		same "types in $dir" "$(json '" ".join(sorted(f["path"][len(a[0]):] + "=" + f["type"]
			for f in d["files"] if f["path"].startswith(a[0] + "/")))' "$dir")" "$TYPES"
		same "hashes of special files" "$(json \
			'[f["path"] for f in d["files"] if f["type"] != "file" and f.get("sha256")]')" '[]'
		[ ${#FELL[@]} = 0 ] || break
	done
}

run_case
