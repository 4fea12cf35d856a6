#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The gate as a process: who it is, what it can take, what happens when it dies.
. "$(dirname "$0")/../lib/egress.sh"

allow=(--allow good.test --allow good.test:7777)

# gate_of PID: sets GATE, the gate that this pinfold has started.
gate_of()
{
	GATE=$(pgrep -P "$1" -x pinfold-gate)
}

inside_py()
{
	inside "${@:2}" -- "${BARE[@]}" /usr/bin/python3 -I -c "$(cat "$EGRESS_DIR/gate.py")" "$1"
}

loads()
{
	inside_py many "${allow[@]}" --nofile 2048
	prints 1000 "a thousand connections at once"
	inside_py slow "${allow[@]}"
	prints "True True
b'last words' b''" "slow ones keep nobody from working"
}

# What is true of a process: KEY as in /proc/PID/status.
status()
{
	sed -n "s/^$1:[[:space:]]*//p" "/proc/$GATE/status"
}

process()
{
	local own

	inside_start A "${allow[@]}" -- "${BARE[@]}" /usr/bin/python3 -I -c \
		"$(cat "$EGRESS_DIR/gate.py")" wait
	wait_for 10 grep -q connected "$A_OUT"
	check "there is a gate" gate_of "$A_PID"
	own=$([ "$MODE" = R ] && echo 1879048189 || echo "$USER_ID")
	check "it is nobody, or the caller" test "$(status Uid | cut -f1)" = "$own"
	check "without capabilities" test "$(status CapPrm)$(status CapEff)$(status CapInh)" = \
		"$(printf '0%.0s' {1..48})"
	check "without new privileges, filtered" test "$(status NoNewPrivs)$(status Seccomp)" = 12
	check "without groups" test -z "$([ "$MODE" = U ] || status Groups | tr -d ' ')"
	check "with nothing but sockets, and no file" test -z \
		"$(find "/proc/$GATE/fd" -type l -printf '%l\n' | grep -vE '^(socket|pipe|anon_inode):')"
	check "with an empty environment" test ! -s "/proc/$GATE/environ"
	kill -9 "$GATE"
	inside_wait A
	prints "connected
end
refused
refused
refused" "killed: connections break, and nothing opens"
	inside "${allow[@]}" -- "${BARE[@]}" curl -s http://good.test/
	check "the next run has a new one" grep -q hello "$OUT"
	check "and leaves none" test -z "$(pgrep -x pinfold-gate -u "$own")"
}

# Two sandboxes of one process would share a gate; of two, each has its own. Neither knows the
# other's names, or can use its listeners: they are in its own network.
apart()
{
	inside_start A "${allow[@]}" -- "${BARE[@]}" /usr/bin/python3 -I -c \
		"$(cat "$EGRESS_DIR/gate.py")" wait
	wait_for 10 grep -q connected "$A_OUT"
	inside_json --allow other.test:7777 -- "${BARE[@]}" /usr/bin/python3 -c '
import socket
for host in "198.18.0.1", "127.0.0.1", "198.51.100.2":
    try:
        s = socket.create_connection((host, 7777), 3)
        s.sendall(b"x")
        print("answer" if s.recv(1) else "end")
    except OSError: print("refused")'
	json_has 'b"answer" not in out and len(out.split()) == 3' "another sandbox's way is no way"
	kill "$A_PID"
	inside_wait A
}

checks()
{
	network || return
	forget
	loads
	process
	apart
	untouched "all of it"
}

run_egress
