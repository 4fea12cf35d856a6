#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: devpts
#
# CVE-2025-52565: the image's /dev/console and /dev/pts/0 were symbolic links, and the runtime bound
# a terminal over their target. There are no images yet: here the workspace and the home carry such
# names, and the terminal of a --pty run must come from the sandbox's own instance of devpts.
. "$(dirname "$0")/../lib/escape.sh"

claim "A04 /dev/console and /dev/pts are the sandbox's own"

attack()
{
	mkdir -p "$W/dev/pts"
	ln -sfn /proc/sys/kernel/core_pattern "$W/dev/console"
	ln -sfn /etc/passwd "$W/dev/pts/0"
	inside --dir "$W" --workdir /work -- sh -c 'stat -c %d /dev/pts; echo /dev/pts/*'
	ran
	holds "devpts is another instance" test "$(sed -n 1p "$OUT")" != "$(stat -c %d /dev/pts)"
	same "names in /dev/pts" "$(sed -n 2p "$OUT")" /dev/pts/ptmx
	inside -- bash -c '[ -L /dev/console ] && echo open link
		true 2>/dev/null </dev/console && echo open read
		true 2>/dev/null >/dev/console && echo open write
		echo shut console'
	shut console

	inside --pty --dir "$W" --workdir /work -- sh -c 'tty; stat -c "%u %F" "$(tty)"; echo /dev/pts/*'
	ran
	same "the terminal is the first of this instance" "$(tr -d '\r' <"$OUT" | tr '\n' ' ')" \
		"/dev/pts/0 1000 character special file /dev/pts/0 /dev/pts/ptmx "
}

run_case
