#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# L06: every decision about the network is counted once, in the result, in the event and in the receipt: ten
# thousand requests and connections as root, a thousand as an ordinary user, some allowed, some not. No query of a
# URL is on record.
. "$(dirname "$0")/../lib/egress.sh"

# Inside: requests on connections that stay, some at once; refused ones, each on a connection of its own; and
# connections to an address that no rule names. Each is waited for.
PROGRAM='
import socket, sys
PARTS, REFUSED = map(int, sys.argv[1:])
def open_one(host):
    s = socket.create_connection((host, 80))
    return s, s.makefile("rb")
def answer(f):
    status, length = f.readline().split()[1:2], 0
    while (line := f.readline()) not in (b"\r\n", b""):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    f.read(length)
    return int(status[0]) if status else 0
def get(host, i):
    return b"GET /p%d?key=canary-%d HTTP/1.1\r\nHost: %s\r\n\r\n" % (i % 7, i, host)
counts = {}
for part in range(PARTS):
    s, f = open_one("good.test")
    for some in range(20):
        s.sendall(b"".join(get(b"good.test", i) for i in range(10)))
        for i in range(10):
            status = answer(f)
            counts[status] = counts.get(status, 0) + 1
    s.close()
for i in range(REFUSED):
    s, f = open_one("good.test")
    s.sendall(get(b"other.test", i))
    status = answer(f)
    counts[status] = counts.get(status, 0) + 1
    s.close()
for i in range(REFUSED):
    try: # refused, which is heard when we connect, or when we read
        s, f = open_one("198.51.100.3")
        f.read()
        s.close()
    except OSError:
        pass
print(counts.get(200), counts.get(403))
'

checks()
{
	local parts=46 refused=400 good bad

	[ "$MODE" = R ] || parts=4 refused=100
	good=$((200 * parts)) bad=$((2 * refused))
	network || return
	forget
	printf 'allow:\n  - host: good.test\n    port: 80\n    protocol: http\n' >"$W/policy.yaml"
	own "$W" "$W/policy.yaml"
	CALL_SECONDS=300 inside_json --time 290s --policy "$W/policy.yaml" -- "${BARE[@]}" /usr/bin/python3 -I -c "$PROGRAM" "$parts" "$refused"
	json_is "$good $refused" 'd["stdout"]["text"].strip()' "all are answered, or refused"
	json_is "$good $bad" '"%d %d" % tuple(sum(n["count"] for n in d["network"] if n["verdict"] == v) for v in ("allowed", "denied"))' \
		"the result counts each once"
	json_is "$bad" 'sum(x["count"] for x in d["denials"])' "denials are as many as were denied"
	check "the server saw those that were allowed" test "$(seen http .)" = "$good"
	pinfold receipt "$(/usr/bin/python3 -I -c 'import json, sys; print(json.load(open(sys.argv[1]))["id"])' "$OUT")"
	check "event and receipt count the same" /usr/bin/python3 -I -c 'import base64, json, sys
p = json.loads(base64.b64decode(json.load(open(sys.argv[1]))["payload"]))["predicate"]
good, bad = map(int, sys.argv[2:])
e = json.loads(p["ledger"]["event"])["data"]
for d in p, e:
    assert d["decisions"] == {"allowed": good, "denied": bad, "pending": 0}, d["decisions"]
    assert sum(n["count"] for n in d["network"]) == good + bad, d["network"]
    assert sum(n["count"] for n in d["denials"]) == bad, d["denials"]' "$OUT" "$good" "$bad"
	check "no query is on record" test -z "$(grep -rl 'canary-[0-9]' "$M/home/ledger")"
}

run_egress
