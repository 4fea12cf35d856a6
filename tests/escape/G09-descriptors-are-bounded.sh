#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: rlimits, ref-bwrap
#
# Descriptors, and what is behind them, are counted for the whole host (fs.file-nr, the queue of
# signals of a user): a sandbox without a share of its own takes them from everybody.
. "$(dirname "$0")/../lib/escape.sh"

claim "G09 no process inside has more descriptors or queued signals than it may"

# As many as it can have with the standard limits, and held.
WATCHES='import ctypes
libc = ctypes.CDLL(None)
n = 0
while n < 1000 and libc.inotify_init() >= 0:
    n += 1
print("holds", n, flush=True)
libc.pause()'

# inotify is counted for the user on the host, whatever the namespace: whoever starts sandboxes must
# be left some.
watches_left()
{
	inside_start WATCHES --time 10s -- python3 -c "$WATCHES"
	wait_for 5 grep -q holds "$WATCHES_OUT"
	launch_argv
	KIND=ESCAPE holds "a watch for the launcher while a sandbox $(cat "$WATCHES_OUT") of them" \
		"${LAUNCH[@]:0:${#LAUNCH[@]}-1}" /usr/bin/python3 -I -c 'import ctypes, sys
sys.exit(ctypes.CDLL(None).inotify_init() < 0)'
	sandbox_end WATCHES
}

attack()
{
	attack_build
	inside --dir "$BIN" --nofile 64 --time 10s -- "$ATTACK"
	ran
	shut raise-nofile raise-sigpending file pipe pair epoll event timer inotify memory copy \
		number signals
	watches_left
}

run_case
