#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: end-first, ref-naive
#
# A file that grows or shrinks while it is read back: endless for a reader that waits for its end,
# SIGBUS for one that maps it. Writers that the command leaves behind go on while it is reported as
# ended, unless they are ended first; reading is bounded by the disk limit either way.
. "$(dirname "$0")/../lib/escape.sh"

claim "E07 a file that changes while it is read back neither holds nor kills the host side"

# What grows is the first and the last of so many names that reading them back takes a while.
WRITERS=': >grows; dd if=/dev/zero of=shrinks bs=1M count=8 2>/dev/null
	i=0; while [ $i -lt 900 ]; do : >f$i; i=$((i + 1)); done; : >late
	setsid python3 -Ic "$1" grows late >/dev/null 2>&1 &
	setsid sh -c "trap : TERM HUP; while :; do truncate -s 0 shrinks; truncate -s 8M shrinks; done" \
		>/dev/null 2>&1 &
	setsid sh -c "trap : TERM HUP; i=0; while :; do i=\$((i + 1)); echo \$i >n; mv n m; rm m; done" \
		>/dev/null 2>&1 &
	while [ ! -e ready ]; do :; done; echo done'

# Grows as fast as it can, from a size that takes a while to read, and begins anew before the disk
# is full.
GROW='import os, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
files = [os.open(name, os.O_WRONLY | os.O_APPEND) for name in sys.argv[1:]]
for fd in files:
    os.write(fd, bytes(16 << 20))
open("ready", "w")
while True:
    for fd in files:
        if os.write(fd, bytes(16384)) and os.fstat(fd).st_size > 20 << 20:
            os.truncate(fd, 16 << 20)'

attack()
{
	local i

	INSIDE_SECONDS=80
	for i in 1 2 3 4 5; do
		inside_json --cpus 64 --disk 64M --workdir /home/user -- sh -c "$WRITERS" sh "$GROW"
		ran
		same "the output, try $i" "$(cat "$OUT")" "done"
		same "the growing file is listed and within the limit" "$(json \
			'[0 < f["size"] <= 64 << 20 for f in d["files"] if f["path"].endswith("/grows")]')" '[true]'
		# All that was ever written is zeros: size and hash are those of one moment.
		same "nobody writes while it is read" "$(json \
			'[f.get("sha256") == hashlib.sha256(bytes(f["size"])).hexdigest() for f in d["files"]
			  if f["path"].split("/")[-1] in a]' grows late shrinks)" '[true, true, true]'
		[ ${#FELL[@]} = 0 ] || break
	done
}

run_case
