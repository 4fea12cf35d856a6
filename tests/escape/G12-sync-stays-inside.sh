#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seccomp
#
# sync() and syncfs() write out everything that is dirty on a file system, whoever made it so, and
# whoever writes then waits: a loop of them inside slows all disks of the host. A file of the host
# that is written but not yet allocated (delayed allocation) shows whether that happened.
. "$(dirname "$0")/../lib/escape.sh"

claim "G12 nothing inside can make the host write its dirty pages"

# For each line that comes in, a few times each: on red runs the host does write.
STORM='import os, sys, time, ctypes
libc = ctypes.CDLL(None)
def storm():
    for name in sys.argv[1:]:
        fd = os.open(name, os.O_RDONLY)
        for i in range(2):
            libc.syncfs(fd)
            libc.fsync(fd)
            libc.fdatasync(fd)
        os.close(fd)
    for i in range(2):
        libc.sync()
    with open("/tmp/f", "wb") as f:
        for i in range(200):
            f.write(bytes(10000))
            os.fsync(f.fileno())
print("ready", flush=True)
while sys.stdin.readline() == "go\n":
    begin = time.monotonic()
    storm()
    print("took", int((time.monotonic() - begin) * 1000), flush=True)'

is_delayed()
{
	filefrag -v "$1" 2>/dev/null | grep -q delalloc
}

# dirty: a file that is not written yet; fails where that cannot be.
dirty()
{
	local i

	for ((i = 0; i < 20; i++)); do
		rm -f "$M/dirty"
		head -c 200000 /dev/urandom >"$M/dirty"
		is_delayed "$M/dirty" && return
	done
	return 1
}

stormed()
{
	[ "$(grep -c '^took' "$STORM_OUT")" = "$1" ]
}

# The kernel writes by itself what is some seconds old, and others on this host call syncfs(), as our own store does: they
# have as long as one storm takes. So again if it was not the sandbox, whose calls would write each time.
TRIES=200
attack()
{
	local shared=(/usr/bin/factor /etc /tmp /home/user /dev/null /proc/self/status /work) name tries=0 can=1 kept=

	for name in /etc/ld.so.cache /etc/ssl /etc/alternatives /etc/fonts; do
		[ -e $name ] && shared+=("$name")
	done
	mkfifo "$W/go"
	inside_start STORM --dir "$BIN" --time 85s -- python3 -c "$STORM" "${shared[@]}" <>"$W/go"
	wait_for 20 grep -q ready "$STORM_OUT" || fell CRASH "no storm: $(head -c 300 "$ERR")"
	while [ $tries -lt $TRIES ]; do
		dirty || can=
		echo go 1<>"$W/go"
		wait_for 20 stormed $((++tries)) || break
		is_delayed "$M/dirty" && kept=1
		[ -n "$can" ] && [ -z "$kept" ] || break
	done
	echo end 1<>"$W/go"
	inside_wait STORM
	OUT=$STORM_OUT
	ran
	checked
	if [ -z "$can" ]; then
		diag "this file system does not delay: only the time is looked at"
	elif [ -z "$kept" ]; then
		fell ESCAPE "what the host had not written yet was written, $tries of $TRIES times"
	fi
	diag "$MODE, storm $tries: $(tail -1 "$OUT") ms"
	holds "done at once: $(cat "$OUT")" awk '$1 == "took" && $2 < 5000 {good = 1} END {exit !good}' "$OUT"
}

run_case
