#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: usr-overlay
#
# Who can open a file can lock it and watch it, if only for reading. A sandbox that shares the files
# of the host, and not just their contents, can hold up whoever locks them (ldconfig, package
# managers), see when the host and other sandboxes use them (every program that starts reads
# ld.so.cache), and signal to other sandboxes through both. Not looked at: device nodes, which no
# sandbox can make for itself and which therefore are the host's.
. "$(dirname "$0")/../lib/escape.sh"

claim "G13 locks, leases and watches on shared files reach nobody outside"

# Holds a lock and a lease on each file and says what it sees done to them.
HOLDER='import ctypes, fcntl, os, select, struct, sys, time
libc = ctypes.CDLL(None)
watch = libc.inotify_init1(os.O_NONBLOCK)
held = []
for name in sys.argv[1:]:
    fd = os.open(name, os.O_RDONLY)
    held.append(fd)
    for what, act in (("flock", lambda: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)),
                      ("lease", lambda: fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK))):
        try:
            act()
            print("have", what, name)
        except OSError as e:
            print("lack", what, name, e.strerror)
names = {libc.inotify_add_watch(watch, n.encode(), 0xfff): n for n in sys.argv[1:]}
print("shut watch\nready", flush=True)
end = time.monotonic() + 15
while time.monotonic() < end:
    if not select.select([watch], [], [], 1)[0]:
        continue
    data = os.read(watch, 65536)
    while data:
        wd, mask, cookie, size = struct.unpack_from("iIII", data)
        if wd in names:
            print("open watch", names.pop(wd), flush=True)
        data = data[16 + size:]'

# Whoever tries to lock the file, or to open it for writing where there could be a lease.
TRY='import fcntl, os, sys
for name in sys.argv[1:]:
    fd = os.open(name, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        print("shut flock", name)
    except BlockingIOError:
        print("open flock", name)
    try:
        os.close(os.open(name, os.O_WRONLY | os.O_NONBLOCK))
    except BlockingIOError:
        print("open lease", name)
    except OSError:
        pass
    os.read(fd, 100)'

# held_by OPTION...: with these options for the holder.
held_by()
{
	inside_start HOLDER "$@" -- python3 -c "$HOLDER" "${FILES[@]}"
	if ! wait_for 10 grep -q ready "$HOLDER_OUT"; then
		fell CRASH "the holder did not start: $(head -c 300 "$ERR")"
		return
	fi
	OUT=$EVIDENCE/host.try
	python3 -I -c "$TRY" "${FILES[@]}" >"$OUT"
	shut "${FILES[@]/#/flock }"
	inside -- python3 -c "$TRY" "${FILES[@]}"
	ran
	shut "${FILES[@]/#/flock }"
	OUT=$HOLDER_OUT
	wait_for 1 grep -q "^open" "$OUT"
	sandbox_end HOLDER
	shut watch
}

attack()
{
	local name

	FILES=(/usr/bin/factor)
	for name in /etc/ld.so.cache /etc/mime.types /etc/ssl/openssl.cnf; do
		[ -f $name ] && FILES+=("$name")
	done
	held_by
	held_by --user root
}

run_case
