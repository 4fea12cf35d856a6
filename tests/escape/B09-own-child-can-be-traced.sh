#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seccomp, notify, ref-bwrap
#
# Debuggers are what agents use, so an own child can be traced. The filter must see the number of a
# system call after the tracer has changed it, not before.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "B09 an own child can be traced, and the filter holds in it"

WORKS="peek vm_readv vm_writev registers step continue stop-run event-run "

# What the supervisor is asked about goes on under a tracer as without one.
CONNECTS='import socket, threading
def pair(family, address):
    listener = socket.socket(family)
    listener.bind(address)
    listener.listen()
    client = socket.socket(family)
    client.connect(listener.getsockname())
    client.sendall(b"ping")
    assert listener.accept()[0].recv(4) == b"ping"
def many(n):
    for i in range(8):
        pair(socket.AF_INET, ("127.0.0.1", 0))
        pair(socket.AF_UNIX, f"/tmp/s{n}.{i}")
        pair(socket.AF_UNIX, f"\0s{n}.{i}")
threads = [threading.Thread(target=many, args=(n,)) for n in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("127.0.0.1", 0))
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"pong", udp.getsockname())
assert udp.recv(4) == b"pong"
try:
    socket.create_connection(("198.51.100.1", 80))
except OSError as e:
    print("refused", e.errno)
print("done")'

attack()
{
	local name doors=(suspend-filter read-filter)

	for name in unshare mount keyctl bpf clone3 io_uring_setup open_by_handle_at setns; do
		doors+=("stop-$name" "event-$name")
	done
	attack_build
	all_shut "${doors[@]}"
	denied unshare mount keyctl bpf open_by_handle_at setns

	inside_json -- python3 -c "$CONNECTS"
	ran
	KIND=CRASH same "connections inside" "$(tr '\n' ' ' <"$OUT")" "refused 101 done "
	same "connections that are reported" "$(reported network)" "connect 198.51.100.1:80"
	if [ -x /usr/bin/strace ]; then
		inside -- strace -f -o /tmp/trace -e trace=connect,mount python3 -c "$CONNECTS
import os
print(sum('connect(' in l for l in open('/tmp/trace')) >= 96)"
		ran
		KIND=CRASH same "under strace" "$(tr '\n' ' ' <"$OUT")" "refused 101 done True "
	fi
	if [ -x /usr/bin/gdb ]; then
		inside --dir "$BIN" -- gdb -nx -batch -ex 'break main' -ex run \
			-ex 'info registers' -ex continue "$ATTACK"
		ran
		holds "gdb stops at main" grep -q '^Breakpoint 1, .*main' "$OUT"
		holds "gdb sees the end" grep -q 'exited normally' "$OUT"
	fi
}

run_case
