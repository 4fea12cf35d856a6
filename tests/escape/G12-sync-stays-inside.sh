#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seccomp
#
# sync() and syncfs() write out everything that is dirty on a file system, whoever made it so, and
# whoever writes then waits: a loop of them inside slows all disks of the host. A file of the host
# that is written but not yet allocated (delayed allocation) shows whether that happened.
. "$(dirname "$0")/../lib/escape.sh"

claim "G12 nothing inside can make the host write its dirty pages"

# A few times each: on red runs the host does write.
STORM='import os, sys, time, ctypes
libc = ctypes.CDLL(None)
begin = time.monotonic()
for name in sys.argv[1:]:
    fd = os.open(name, os.O_RDONLY)
    for i in range(2):
        libc.syncfs(fd)
        libc.fsync(fd)
        libc.fdatasync(fd)
for i in range(2):
    libc.sync()
with open("/tmp/f", "wb") as f:
    for i in range(200):
        f.write(bytes(10000))
        os.fsync(f.fileno())
print("took", int((time.monotonic() - begin) * 1000))'

is_delayed()
{
	filefrag -v "$1" 2>/dev/null | grep -q delalloc
}

# The kernel writes by itself what is some seconds old, and others on this host call syncfs(), as our own
# store does; so again if it was not the sandbox, whose calls would write each time.
TRIES=20
attack()
{
	local shared=(/usr/bin/factor /etc /tmp /home/user /dev/null /proc/self/status /work) name

	for name in /etc/ld.so.cache /etc/ssl /etc/alternatives /etc/fonts; do
		[ -e $name ] && shared+=("$name")
	done
	for ((name = 0; name < TRIES; name++)); do
		rm -f "$M/dirty"
		head -c 200000 /dev/urandom >"$M/dirty"
		if ! is_delayed "$M/dirty"; then
			checked
			diag "this file system does not delay: only the time is looked at"
			break
		fi
		inside --dir "$BIN" -- python3 -c "$STORM" "${shared[@]}"
		ran
		is_delayed "$M/dirty" && break
	done
	if [ "$CALLS" = 0 ]; then
		inside --dir "$BIN" -- python3 -c "$STORM" "${shared[@]}"
		ran
	fi
	[ "$CALLS" = $TRIES ] && ! is_delayed "$M/dirty" &&
		fell ESCAPE "what the host had not written yet was written, $TRIES of $TRIES times"
	diag "$MODE: $(cat "$OUT") ms"
	holds "done at once: $(cat "$OUT")" awk '{exit !($2 < 5000)}' "$OUT"
}

run_case
