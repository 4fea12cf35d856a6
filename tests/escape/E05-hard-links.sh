#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: dir-overlay, ref-naive
#
# A hard link to a file of a lower layer or of the host would be that file, under a name that the
# sandbox may write to. Across mounts there is none; within /work it is made in the upper layer, and
# the host's file keeps its content and its count of links.
. "$(dirname "$0")/../lib/escape.sh"

claim "E05 no hard link reaches a file of the host"

attack()
{
	local before

	echo original >"$W/file"
	chmod 0666 "$W/file"
	before=$(stat -c '%i %h %s %Y %a' "$W/file")
	inside -- sh -c 'for f in /etc/passwd /etc/shadow /etc/ld.so.cache /usr/bin/env /usr/bin/passwd \
			/proc/self/status /dev/null; do
			for to in /home/user/x /tmp/x /dev/shm/x /run/x; do
				ln "$f" $to 2>/dev/null && { echo changed >>$to; } 2>/dev/null &&
					echo "open $f $to"; rm -f $to
			done
		done; echo shut all'
	ran
	KIND=WRITE shut all
	inside_json --dir "$W" -- sh -c 'cd /work && ln file other && echo changed >>other &&
		ln file /home/user/x 2>/dev/null; cat /work/file; cat /work/other; true'
	ran
	KIND=WRITE same "content of the host's file" "$(cat "$W/file")" original
	KIND=WRITE same "inode, links, size, time, mode of the host's file" \
		"$(stat -c '%i %h %s %Y %a' "$W/file")" "$before"
	KIND=WRITE same "names in the host's directory" "$(ls "$W")" file
	# A program of the host's /usr, through every layer that shows it.
	before=$(sha256sum </usr/bin/env)
	inside -- sh -c 'cd /usr/bin && ln env /usr/bin/env2 && echo x >>env2; echo x >>env
		cp env /tmp/e; ln -f /tmp/e env; true' 2>/dev/null
	KIND=WRITE same "a program of the host" "$(sha256sum </usr/bin/env)" "$before"
}

run_case
