#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: gate-share
#
# Sandboxes that share a gate: one that takes all the connections that it gets leaves some to the others.
. "$(dirname "$0")/../lib/egress.sh"
. "$LIB_DIR/daemon.sh"
. "$LIB_DIR/api.sh"
. "$LIB_DIR/client.sh"

# As many connections as there are, held for as long as the sandbox lives; /tmp/held says when.
HOLD='import socket, time
held = []
try:
    while True:
        held.append(socket.create_connection(("good.test", 7777), 10))
        held[-1].sendall(b"x")
        if held[-1].recv(1) != b"x":
            break
except OSError:
    pass
print(len(held), file=open("/tmp/held", "w"))
socket.create_server(("127.0.0.1", 0)).accept()'

sandbox()
{
	api POST /v1/sandboxes '{"policy": "allow: [{host: good.test, port: 7777}]"'"$LIMITS}"
	ID=$(/usr/bin/python3 -I -c 'import json, sys; print(json.load(sys.stdin)["id"])' <"$OUT")
}

# body PROGRAM: a command in JSON.
body()
{
	/usr/bin/python3 -I -c 'import json, sys; print(json.dumps({"command": ["/usr/bin/python3", "-c", sys.argv[1]]}))' "$1"
}

holds()
{
	api POST "/v1/sandboxes/$1/exec" "$(body 'print("held", open("/tmp/held").read())')"
	grep -q '"text": *"held [0-9]' "$OUT"
}

checks()
{
	local one two outer=("${CALL_OUTER[@]}")

	network || return
	outer=("${CALL_OUTER[@]}")
	CALL_OUTER+=(prlimit --nofile=1240:1240) # a hundred connections
	serve_start
	CALL_OUTER=("${outer[@]}")
	sandbox
	one=$ID
	sandbox
	two=$ID
	api_start HELD POST "/v1/sandboxes/$one/exec" "$(body "$HOLD")"
	check "one sandbox takes what it gets" wait_for 20 holds "$one"
	check "which is most" grep -q '"text": *"held [6-9][0-9]' "$OUT"
	api POST "/v1/sandboxes/$two/exec" "$(body 'import socket
for i in range(4):
    s = socket.create_connection(("good.test", 7777), 10)
    s.sendall(b"there")
    print(s.recv(10).decode())')"
	check "another has its own all the same" grep -q '"text": *"there.nthere.nthere.nthere.n"' "$OUT"
	api DELETE "/v1/sandboxes/$one"
	untouched "connections"
	serve_stop
}

run_egress
