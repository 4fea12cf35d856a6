#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: files-nofollow, ref-naive
#
# What a run left is read back by the host: a link that is followed then reads a file of the host,
# as root in mode R. Links are listed as links, and no hash of a file of the host comes out (the
# oracle looks for the hashes of the canary files).
. "$(dirname "$0")/../lib/escape.sh"

claim "E01 a symbolic link that a run leaves is never followed"

LINKS='mkdir -p d/e
	ln -s "$1" out; ln -s "$2" out2; ln -s "$3" out3
	ln -s /etc/shadow shadow; ln -s /root dir-root; ln -s / dir-all
	ln -s ../../../../../../../../srv d/e/up; ln -s ../../../../../../../../etc/passwd d/rel
	ln -s /proc/self/root/etc/shadow magic; ln -s /proc/1/root dir-magic; ln -s loop loop
	ln -s /dev/stdin in; ln -s /dev/fd/3 fd3; ln -s nowhere dangling; ln -s "" empty 2>/dev/null
	last="$1"; i=0; while [ $i -lt 45 ]; do ln -s "$last" "chain$i"; last=chain$i; i=$((i + 1)); done
	echo real >file'

attack()
{
	local dir

	chmod 0777 "$W"
	echo mine >"$W/kept"
	ln -sfn "$CANARY_SRV_FILE" "$W/outward"
	for dir in /home/user /work; do
		inside_json --dir "$W" --workdir "$dir" -- sh -c "$LINKS" sh "$CANARY_ROOT_FILE" \
			"$CANARY_SRV_FILE" "$CANARY_HOME_FILE"
		ran
		same "links among the files in $dir" "$(json \
			'sorted({f["type"] for f in d["files"] if f["path"].split("/")[-1] in a})' \
			out out2 out3 shadow dir-root dir-all up rel magic loop dangling chain0 chain44)" \
			'["symlink"]'
		same "how many in $dir" "$(json \
			'sum(f["type"] == "symlink" for f in d["files"])')" 59
		same "hashes of what is not a regular file" "$(json \
			'[f["path"] for f in d["files"] if f["type"] != "file" and f.get("sha256")]')" '[]'
		same "files below a linked directory" "$(json \
			'[f["path"] for f in d["files"] if any(p in f["path"] + "/" for p in a)]' \
			/dir-root/. /dir-all/e /up/c /dir-magic/r)" '[]'
		same "the honest file" "$(json \
			'[f["sha256"] == hashlib.sha256(b"real\n").hexdigest() for f in d["files"]
			  if f["path"] == a[0]]' "$dir/file")" '[true]'
		[ -r /etc/shadow ] && absent "the hash of the host's /etc/shadow" \
			"$(sha256sum </etc/shadow | cut -d' ' -f1)" "$JSON"
	done
	# The directory itself, swapped for a link below a path that is walked.
	inside_json -- sh -c 'mkdir a; echo x >a/passwd; mv a b; ln -s /etc a; cd /tmp'
	ran
	same "no file is listed through the link" \
		"$(json '[f["path"] for f in d["files"] if "/a/" in f["path"]]')" '[]'
}

run_case
