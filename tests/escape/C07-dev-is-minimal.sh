#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: landlock, ref-bwrap
#
# Each driver in /dev is a part of the kernel that a sandbox could attack: kvm, fuse, tun, vsock,
# userfaultfd, the disks. The list is exact: name, kind and number.
. "$(dirname "$0")/../lib/escape.sh"

claim "C07 /dev has seven devices, a terminal directory and shared memory"

WANT="/dev d
/dev/fd l /proc/self/fd
/dev/full c 1 7
/dev/null c 1 3
/dev/ptmx l pts/ptmx
/dev/pts d
/dev/pts/ptmx c 5 2
/dev/random c 1 8
/dev/shm d
/dev/stderr l /proc/self/fd/2
/dev/stdin l /proc/self/fd/0
/dev/stdout l /proc/self/fd/1
/dev/tty c 5 0
/dev/urandom c 1 9
/dev/zero c 1 5"

# shellcheck disable=SC2016
LIST='find /dev | LC_ALL=C sort | while read -r f; do
		if [ -L "$f" ]; then echo "$f l $(readlink "$f")"
		elif [ -d "$f" ]; then echo "$f d"
		elif [ -c "$f" ]; then echo "$f c $(stat -c "%t %T" "$f")"
		else echo "$f other"
		fi
	done'

# shellcheck disable=SC2016
USE='echo x >/dev/null && head -c 2 /dev/zero | wc -c && head -c 2 /dev/urandom | wc -c
	echo x 2>/dev/null >/dev/full || echo full
	(: </dev/tty) 2>/dev/null && echo "a terminal"
	for f in new shm/../new; do (: >/dev/$f) 2>/dev/null && echo "made $f"; done
	rm -f /dev/null 2>/dev/null && echo "removed null"
	mv /dev/zero /dev/random 2>/dev/null && echo "moved zero"
	chmod 666 /dev/null 2>/dev/null && echo "could change null"
	echo shm >/dev/shm/x && cat /dev/shm/x'

attack()
{
	local user

	for user in user root; do
		inside --user "$user" -- sh -c "$LIST"
		if [ "$user$MODE" = rootU ] && [ "$RC" = 125 ]; then
			refused "sandbox root without a range of ids"
			continue
		fi
		ran
		same "the whole of /dev" "$(cat "$OUT")" "$WANT"
		inside --user "$user" -- sh -c "$USE"
		ran
		# Its root may put files beside them, as anywhere.
		[ "$user" = root ] && sed -i '/^made /d' "$OUT"
		same "what its devices do" "$(paste -sd ' ' "$OUT")" "2 2 full shm"
	done
	inside --pty -- sh -c "$LIST"
	ran
	same "with a terminal there is one more" "$(tr -d '\r' <"$OUT" | grep -vxF "$WANT")" \
		"/dev/pts/0 c 88 0"
}

run_case
