#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Limits of a rule, and of a run's whole way out: each is reached, and no further.
. "$(dirname "$0")/../lib/egress.sh"

# policy KEYS: of one rule for good.test in the clear; the run of a program under it.
under()
{
	printf 'allow:\n  - {host: good.test, port: 80, protocol: http, %s}\n' "$1" >"$W/policy.yaml"
	own "$W"
	forget
	inside_json --policy "$W/policy.yaml" "${@:3}" -- "${BARE[@]}" sh -c "$2"
}

# denied TEXT NAME: and it is told, with a hint that has TEXT.
denied()
{
	json_has "any('$1' in x['hint'] for x in d['denials'])" "$2: told as a denial"
}

GET='curl -s -o /dev/null -w "%{http_code} "'

rule()
{
	under 'requests_per_minute: 3' "for i in 1 2 3 4 5 6 7 8; do $GET http://good.test/; done"
	json_has 'd["stdout"]["text"].split()[:4] == ["200", "200", "200", "429"]' "requests in a minute"
	check "requests in a minute: no more reached the server" test "$(seen http GET)" = 3
	denied 'requests in a minute' "requests in a minute"
	under 'headers: 400' "$GET http://good.test/; $GET -H 'X-Long: $(printf 'x%.0s' {1..500})' http://good.test/"
	json_is '200 431' 'd["stdout"]["text"].strip()' "the head of a request"
	check "the head of a request: only the short one reached the server" test "$(seen http GET)" = 1
	denied 'head of a request' "the head of a request"
	under 'bytes_down: 20K' 'curl -s http://good.test/big/100000 | wc -c'
	json_has 'int(d["stdout"]["text"]) <= 20480' "bytes down"
	denied 'limit of bytes' "bytes down"
	under 'bytes_up: 20K' 'head -c 100000 /dev/zero | curl -s -T - http://good.test/ || echo broke'
	json_has '"hello" not in d["stdout"]["text"]' "bytes up"
	denied 'limit of bytes' "bytes up"
	under 'connections: 2' 'python3 -c "
import socket
l = [socket.create_connection((\"good.test\", 80), 9) for i in range(2)]
try:
    s = socket.create_connection((\"good.test\", 80), 9)
    print(len(s.recv(9)))
except OSError as e:
    print(e.errno)"'
	json_is '104' 'd["stdout"]["text"].strip()' "connections at once"
	denied 'open connections' "connections at once"
}

whole()
{
	under 'methods: [GET]' "for i in 1 2 3; do $GET http://good.test/; done" --egress-requests 2
	json_is '200 200 429' 'd["stdout"]["text"].strip()' "a run's requests"
	denied 'budget of requests' "a run's requests"
	under 'methods: [GET]' "for i in 1 2 3; do $GET http://good.test/; done" --egress-connections 2
	json_is '200 200 502' 'd["stdout"]["text"].strip()' "a run's connections"
	denied 'budget of connections' "a run's connections"
	under 'methods: [GET]' 'curl -s http://good.test/big/100000 | wc -c' --egress-bytes 20K
	json_has 'int(d["stdout"]["text"]) <= 20480' "a run's bytes"
	denied 'budget of bytes' "a run's bytes"
	# By bytes that are passed through as they are, too.
	inside_json --allow good.test:7777 --egress-bytes 100 -- "${BARE[@]}" /usr/bin/python3 -c '
import socket
s = socket.create_connection(("good.test", 7777), 9)
s.sendall(b"x" * 60)
n = 0
try:
    while n < 60:
        part = s.recv(60)
        n += len(part)
        if not part:
            break
except OSError:
    pass
print(n < 60)'
	json_is True 'd["stdout"]["text"].strip()' "a run's bytes, passed through"
	denied 'budget of bytes' "a run's bytes, passed through"
}

checks()
{
	network || return
	rule
	whole
}

run_egress
