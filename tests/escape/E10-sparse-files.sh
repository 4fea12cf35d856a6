#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: ref-naive
#
# A file of 4 TiB that has no block costs its maker nothing and a reader hours. Hashing on the host
# side is bounded; the size that is listed is the apparent one, the disk counted is the real one.
. "$(dirname "$0")/../lib/escape.sh"

claim "E10 a sparse file of any size is reported at once"

attack()
{
	INSIDE_SECONDS=20
	inside_json --time 10s -- sh -c 'truncate -s 4T huge || truncate -s 1G huge; truncate -s 1G holes
		printf end | dd of=holes bs=1 seek=1073741000 conv=notrunc 2>/dev/null; echo x >small
		stat -c "%s" huge'
	ran
	same "the huge file is listed with its size" "$(json \
		'[f["size"] for f in d["files"] if f["path"] == "/home/user/huge"]')" "[$(cat "$OUT")]"
	same "the small file is whole" "$(json \
		'[f["sha256"] for f in d["files"] if f["path"] == "/home/user/small"]')" \
		"[\"$(echo x | sha256sum | cut -d' ' -f1)\"]"
	same "the disk counted is that of blocks" "$(json 'd["usage"]["disk_bytes"] < 16 << 20')" true
}

run_case
