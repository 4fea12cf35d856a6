#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: disk
#
# Measured on a runtime: 50,000 empty files, nobody said stop. An empty file costs kernel memory;
# their number is bounded with the disk limit.
. "$(dirname "$0")/../lib/escape.sh"

claim "G06 the number of files is bounded"

# What the limit of 16 MiB allows, in pages of 4 KiB, with some for our own.
MOST=$((16 * 256 + 256))

attack()
{
	inside_json --memory 512M --disk 16M --time 30s -- python3 -c '
import os
made = 0
try:
    for i in range(50000):
        if i % 5 == 0: os.mkdir("/home/user/d%d" % i)
        elif i % 5 == 1: os.symlink("x", "/tmp/l%d" % i)
        elif i % 5 == 2: os.mkfifo("/run/p%d" % i)
        else: os.close(os.open("/dev/shm/f%d" % i, os.O_CREAT | os.O_WRONLY))
        made += 1
except OSError as e:
    print(made, os.strerror(e.errno))
else:
    print(made, "all")'
	ran
	diag "$MODE: $(cat "$OUT")"
	holds "made $(cat "$OUT"), of at most $MOST" [ "$(cut -d' ' -f1 "$OUT")" -le "$MOST" ]
	same "it hits as a full disk" "$(cut -d' ' -f2- "$OUT")" "No space left on device"
	same "the limit is told" "$(json 'd["limit"] and d["limit"]["kind"]')" disk
}

run_case
