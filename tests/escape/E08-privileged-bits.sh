#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: nosuid, nodev, dir-overlay, ref-naive
#
# A file with the setuid bit, capabilities or a device number that a sandbox leaves where a user of
# the host can reach it gives that user what the owner had. Nothing that a run makes is reachable
# outside while it lives, nothing stays after it, and every mount of the sandbox ignores such bits.
. "$(dirname "$0")/../lib/escape.sh"

claim "E08 setuid files, file capabilities and devices made inside are worth nothing outside"

MAKE='for d in /home/user /work /tmp /dev/shm /run; do cd $d || continue
		cp /usr/bin/env suid && chmod 6755 suid; chmod 2777 . 2>/dev/null
		setfattr -n security.capability -v 0sAQAAAgAgAAAAAAAAAAAAAAAAAAA= suid 2>/dev/null
		python3 -I -c "
import os
for name in (\"security.capability\", \"trusted.overlay.redirect\", \"security.evm\"):
    try:
        os.setxattr(\"suid\", name, bytes((1, 0, 0, 2, 0, 32)) + bytes(14))
        print(\"open\", name)
    except OSError:
        pass
"; mknod $d/null c 1 3 2>/dev/null && echo "open mknod $d"; mknod $d/disk b 254 0 2>/dev/null &&
			echo "open mknod $d"
	done; chmod 6755 /work/tool; echo shut made'

while_it_lives()
{
	local guest line

	inside_start LIVES --dir "$W" -- sh -c "$MAKE; exec tail -f /dev/null"
	wait_for 10 grep -q 'shut made' "$LIVES_OUT"
	OUT=$LIVES_OUT
	shut made
	guest=$(sandbox_pids LIVES | sed -n 2p)
	while read -r line; do
		checked
		case $line in
		*nosuid*nodev*) ;;
		"/dev/"*nosuid*) ;; # the device nodes themselves
		*) fell ESCAPE "mount without nosuid or nodev: $line" ;;
		esac
	done < <(cut -d' ' -f5,6 "/proc/$guest/mountinfo")
	if id "$TEST_USER" >/dev/null 2>&1 && [ "$MODE" = R ]; then
		holds "another user cannot look in" setpriv --reuid "$TEST_USER" --regid "$TEST_USER" \
			--clear-groups sh -c '! ls "/proc/$0/root/" && ! "/proc/$0/root/home/user/suid"' "$guest"
	fi
	sandbox_end LIVES
}

attack()
{
	local before

	cp /usr/bin/env "$W/tool"
	chmod 0755 "$W/tool"
	before=$(find "$W" -printf '%P %m %u %s\n' | sort)
	inside_json --dir "$W" -- sh -c "$MAKE"
	ran
	shut made
	[ "$EUID" = 0 ] && while_it_lives
	KIND=WRITE same "the directory that was given" \
		"$(find "$W" -printf '%P %m %u %s\n' | sort)" "$before"
	KIND=WRITE same "files with such bits below our data directory" \
		"$(find "$M/home" "$M/run" \( -perm /6000 -o -type b -o -type c \) -printf '%P ')" ""
	same "mode of the data directory" "$(stat -c %a "$M/home")" 700
}

run_case
