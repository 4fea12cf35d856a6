#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: files-bound, ref-naive
#
# A file of 4 TiB that has no block costs its maker nothing and a reader hours; so do many that are
# each small enough, and many names of one file. Hashing on the host side is bounded, for all files
# together; the size that is listed is the apparent one, the disk counted is the real one.
. "$(dirname "$0")/../lib/escape.sh"

claim "E10 sparse files of any size and number are reported at once"

# COUNT files of SIZE bytes: without a block, and as names of one that has them.
MANY='import os, sys
count, size = int(sys.argv[1]), int(sys.argv[2])
for i in range(count):
    os.truncate(os.open("hole%d" % i, os.O_RDWR | os.O_CREAT), size)
    os.close(3)
with open("whole", "wb") as f:
    f.write(bytes(size // 4))
for i in range(count):
    os.link("whole", "name%d" % i)'

# quick OPTION... -- COMMAND...: as a document, from start to end.
quick()
{
	local begin=${EPOCHREALTIME/[.,]/} took

	inside_json --time 60s "$@"
	took=$(((${EPOCHREALTIME/[.,]/} - begin) / 1000))
	ran
	holds "reported at once ($took ms)" [ "$took" -le 60000 ]
}

attack()
{
	INSIDE_SECONDS=80
	quick -- sh -c 'truncate -s 4T huge || truncate -s 1G huge; truncate -s 1G holes
		printf end | dd of=holes bs=1 seek=1073741000 conv=notrunc 2>/dev/null; echo x >small
		stat -c "%s" huge'
	same "the huge file is listed with its size" "$(json \
		'[f["size"] for f in d["files"] if f["path"] == "/home/user/huge"]')" "[$(cat "$OUT")]"
	same "the small file is whole" "$(json \
		'[f["sha256"] for f in d["files"] if f["path"] == "/home/user/small"]')" \
		"[\"$(echo x | sha256sum | cut -d' ' -f1)\"]"
	same "the disk counted is that of blocks" "$(json 'd["usage"]["disk_bytes"] < 16 << 20')" true
	quick --disk 256M -- python3 -Ic "$MANY" 400 $((240 << 20))
	same "all are listed with their size" "$(json \
		'[sum(f["size"] == n << 20 for f in d["files"]) for n in (240, 60)]')" '[400, 401]'
}

run_case
