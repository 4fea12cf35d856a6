#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: gate-rights, gate-filter
#
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
	CALL_SECONDS=200
	inside_py many "${allow[@]}" --nofile 2048 --time 3m
	CALL_SECONDS=240
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
	check "it leaves no core (L05)" grep -qE '^Max core file size +0 +0 ' "/proc/$GATE/limits"
	check "and lets nobody look into it" test "$(stat -c %u "/proc/$GATE/environ")" = 0
	kill -9 "$GATE"
	inside_wait A
	prints "connected
end
refused
refused
refused" "killed: connections break, and nothing opens"
	inside "${allow[@]}" -- "${BARE[@]}" curl -s http://good.test/
	check "the next run has a new one" grep -q hello "$OUT"
	check "and leaves none" test -z "$(gates)"
}

# At any moment: after so many connections, in the middle of the next.
killed()
{
	local after

	for after in 1 2 5 9; do
		inside_start A "${allow[@]}" -- "${BARE[@]}" /usr/bin/python3 -I -c \
			"$(cat "$EGRESS_DIR/gate.py")" busy
		wait_for 20 grep -qx "$after" "$A_OUT"
		gate_of "$A_PID"
		kill -9 "$GATE"
		inside_wait A
		check "killed after $after connections: nothing opens" test "$(tail -n 3 "$OUT" | sort -u)" = refused
	done
}

has_lines()
{
	[ "$(wc -l <"$1")" -ge "$2" ]
}

# The same under load, at a moment that only chance knows: some are just connecting, some talk, some wait.
# PINFOLD_TEST_ROUNDS: how often; PINFOLD_TEST_SEED: which moments.
killed_in_a_crowd()
{
	local round opened=0 seed=${PINFOLD_TEST_SEED:-$((EPOCHSECONDS % 32768))}

	RANDOM=$seed
	diag "seed $seed"
	for ((round = 0; round < ${PINFOLD_TEST_ROUNDS:-3}; round++)); do
		inside_start A "${allow[@]}" -- "${BARE[@]}" /usr/bin/python3 -I -c \
			"$(cat "$EGRESS_DIR/gate.py")" crowd
		wait_for 20 has_lines "$A_OUT" $((1 + RANDOM % 200))
		gate_of "$A_PID"
		kill -9 "$GATE"
		inside_wait A
		[ "$(tail -n 3 "$OUT" | sort -u)" = refused ] || ((++opened))
	done
	check "killed in a crowd: connections break, nothing opens" test "$opened" = 0
	check "no gate is left" test -z "$(gates)"
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
	killed
	killed_in_a_crowd
	apart
	untouched "all of it"
}

run_egress
