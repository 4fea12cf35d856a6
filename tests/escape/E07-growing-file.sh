#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: ref-naive
#
# A file that grows or shrinks while it is read back: endless for a reader that waits for its end,
# SIGBUS for one that maps it. Writers that the command leaves behind go on while it is reported as
# ended, unless they are ended first; reading is bounded by the disk limit either way.
. "$(dirname "$0")/../lib/escape.sh"

claim "E07 a file that changes while it is read back neither holds nor kills the host side"

WRITERS='dd if=/dev/zero of=shrinks bs=1M count=8 2>/dev/null
	setsid sh -c "trap : TERM HUP; while :; do head -c 65536 /dev/zero >>grows; done" >/dev/null 2>&1 &
	setsid sh -c "trap : TERM HUP; while :; do truncate -s 0 shrinks; truncate -s 8M shrinks; done" \
		>/dev/null 2>&1 &
	setsid sh -c "trap : TERM HUP; i=0; while :; do i=\$((i + 1)); echo \$i >n; mv n m; rm m; done" \
		>/dev/null 2>&1 &
	while [ ! -s grows ]; do :; done; echo done'

attack()
{
	local i

	INSIDE_SECONDS=20
	for i in 1 2 3 4 5; do
		inside_json --disk 32M --workdir /home/user -- sh -c "$WRITERS"
		ran
		same "the output, try $i" "$(cat "$OUT")" "done"
		same "the growing file is listed and within the limit" "$(json \
			'[0 < f["size"] <= 32 << 20 for f in d["files"] if f["path"].endswith("/grows")]')" '[true]'
		[ ${#FELL[@]} = 0 ] || break
	done
}

run_case
