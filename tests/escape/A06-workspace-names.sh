#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: dir-overlay, ref-naive
#
# CVE-2026-41579 (runc), CVE-2026-47766 (crun): /dev, /proc or /sys of an image was a symbolic link
# to a directory of the host, and the set-up made its files there. Images come later; the directory
# that a caller can give today is --dir: whatever stands in it, or if it is itself a link, nothing
# of ours is made in it or where its links lead.
. "$(dirname "$0")/../lib/escape.sh"

claim "A06 set-up creates nothing in or through the given directory"

tree()
{
	find "$W" "$M/victim" -printf '%P %y %m %u %T@\n' | sort
}

attack()
{
	local victim=$M/victim name

	mkdir -p "$victim" "$W/ws"
	chmod 0777 "$victim" "$W/ws"
	for name in dev proc sys etc usr tmp run home work root .old put_old; do
		ln -sfn ../../victim "$W/ws/$name"
	done
	ln -sfn ws "$W/link"
	tree >"$EVIDENCE/tree.before"
	inside --dir "$W/ws" -- sh -c 'ls /work | tr "\n" " "; echo x >/work/new; echo y >/work/tmp/new
		mkdir /work/sub; mount --bind /work/sub /work/dev 2>/dev/null; true'
	ran
	same "the workspace is shown" "$(grep -c 'dev .*usr' "$OUT")" 1
	inside --dir "$W/link" --workdir /work -- sh -c 'ls | wc -l; rm -rf dev proc sys; true'
	ran
	tree >"$EVIDENCE/tree.after"
	KIND=WRITE same "changes in the directory and where its links lead" \
		"$(diff "$EVIDENCE/tree.before" "$EVIDENCE/tree.after")" ""
	inside --dir "$W/ws/nothing" -- echo RAN
	refused "a directory that does not exist"
	inside --dir "$W/ws/dev/../../secret" -- echo RAN
	refused "a directory that does not exist"
	: >"$W/file"
	inside --dir "$W/file" -- echo RAN
	refused "a file as the directory"
}

run_case
