#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: rlimits, guest-files, ref-bwrap
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

# Descriptors on their way through sockets are counted for the user on the host, too, and who is over his own
# limit sends none any more: so no sandbox could be started by a user who has such a one.
IN_FLIGHT='import socket, time
n = 0
try:
    while n < 100000:
        a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            while True:
                socket.send_fds(a, [b"x"], [b.fileno()] * 200, socket.MSG_DONTWAIT)
                n += 200
        except BlockingIOError:
            pass
        a.close()
        b.close()
except OSError as error:
    print(error.strerror)
print("holds", n, flush=True)
time.sleep(60)'

sending_left()
{
	inside_start FLIGHT --time 60s -- python3 -c "$IN_FLIGHT"
	wait_for 20 grep -q holds "$FLIGHT_OUT"
	inside -- /usr/bin/python3 -c 'import pathlib; pathlib.Path("/home/user/file").write_text("x"); print("alive")'
	KIND=CRASH holds "a sandbox beside one that $(tr '\n' ' ' <"$FLIGHT_OUT")on their way: $(head -c 200 "$ERR")" \
		grep -qx alive "$OUT"
	sandbox_end FLIGHT
}

attack()
{
	attack_build
	inside --dir "$BIN" --nofile 64 --time 10s -- "$ATTACK"
	ran
	shut raise-nofile raise-sigpending file pipe pair epoll event timer inotify memory copy \
		number signals
	watches_left
	sending_left
}

run_case
