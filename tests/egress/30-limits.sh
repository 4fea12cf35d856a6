#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: gate-bytes
#
# Limits of a rule hold, however bytes are sent: in one request, in many, in fields, in addresses. An
# answer without an end costs the gate no memory.
. "$(dirname "$0")/../lib/egress.sh"

LIMIT=262144

policy()
{
	cat >"$W/policy.yaml" <<-EOT
		allow:
		  - {host: good.test, port: 82, protocol: http, bytes_up: $LIMIT}
		  - {host: four.test, port: 82, protocol: http, bytes_up: $LIMIT}
		  - {host: six.test, port: 82, protocol: http, bytes_up: $LIMIT}
		  - {host: a.wild.test, port: 7777, bytes_up: $LIMIT}
		  - {host: b.wild.test, port: 80, protocol: http, bytes_down: $LIMIT}
		  - {host: c.wild.test, port: 7777, connections: 2}
		  - {host: c.wild.test, port: 80, protocol: http, requests_per_minute: 5, headers: 600}
	EOT
	own "$W"
}

# sunk HOST: bytes that the server had of it.
sunk()
{
	awk -v host="$1:82" '$1 == host { n += $2 } END { print n + 0 }' "$NET/far/sink"
}

bytes()
{
	local host

	inside_json --policy "$W/policy.yaml" -- "${BARE[@]}" /usr/bin/python3 -I -c \
		"$(cat "$EGRESS_DIR/limits.py")"
	json_is "one: cut
fields: cut
addresses: cut
relay: cut
down: cut
connections: 2
requests: [200, 200, 200, 200, 200, 429]
head: 431
done" 'd["stdout"]["text"].strip()' "limits of rules hold"
	for host in good.test four.test six.test; do
		wait_for 10 grep -q "^$host:82 " "$NET/far/sink"
		check "$host: not a byte more came to the server" test "$(sunk "$host")" -le "$LIMIT"
		json_is "[[true, true]]" '[(x["count"] > 0, "bytes" in x["hint"]) for x in d["denials"]
			if x["what"] == "connect '$host':82"]' "$host: it is told once"
	done
	json_has 'all(n["bytes_out"] <= '$LIMIT' for n in d["network"])' "as many as are told"
	json_has 'any(n["bytes_out"] > 250000 for n in d["network"] if n["host"] == "good.test")' \
		"and those are told"
}

# memory PID: of a gate, in KiB.
memory()
{
	sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$1/status"
}

endless()
{
	local gate

	printf 'allow: [{host: good.test, port: 81, protocol: http}]\n' >"$W/endless.yaml"
	own "$W"
	inside_start A --policy "$W/endless.yaml" -- "${BARE[@]}" /usr/bin/python3 -I -c '
import socket, threading
everyone = []
for _ in range(40):
    s = socket.create_connection(("good.test", 81), 10)
    s.sendall(b"GET /endless HTTP/1.1\r\nHost: good.test:81\r\n\r\n")
    everyone.append(s)
for s in everyone:
    s.recv(10)
for s in everyone[:4]:
    left = 8 << 20
    while left > 0:
        left -= len(s.recv(65536))
print("read", flush=True)
threading.Event().wait()'
	wait_for 20 grep -q read "$A_OUT"
	gate=$(pgrep -P "$A_PID" -x pinfold-gate)
	check "40 answers without an end take at most a megabyte each" test "$(memory "$gate")" -lt 49152
	kill "$A_PID"
	inside_wait A
}

checks()
{
	network || return
	policy
	forget
	: >"$NET/far/sink"
	bytes
	endless
	untouched "limits"
}

run_egress
