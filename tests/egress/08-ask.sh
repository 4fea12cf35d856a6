#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Rules that say ask: the connection, or the request, waits for a person's word, and nothing reaches
# the server before.
. "$(dirname "$0")/../lib/egress.sh"

policy()
{
	cat >"$W/policy.yaml" <<-EOT
		allow:
		  - host: good.test
		    port: 80
		    protocol: http
		    methods: [GET]
		ask:
		  - host: four.test
		    port: 443
		  - host: good.test
		    port: 80
		    protocol: http
		    methods: [POST]
	EOT
	own "$W"
}

# asked NAME: the id of its question, in ASKED.
asked()
{
	local err=${1}_ERR

	wait_for 20 grep -q '^pinfold: waits for approval: ' "${!err}"
	ASKED=$(grep -o 'pinfold approve apr[a-z2-7]*' "${!err}" | awk '{ print $3 }' | tail -n1)
}

connection()
{
	local get=("${BARE[@]}" curl -sk --max-time 40 https://four.test/)

	forget
	inside_start HELD --json --policy "$W/policy.yaml" -- sh -c "${get[*]}; ${get[*]}"
	asked HELD
	check "nothing has reached the server" test "$(seen tcp ' 443')" = 0
	pinfold approvals
	check "the question says what for" grep -q "^$ASKED .*network: connect four.test:443, for sandbox sbx" "$OUT"
	pinfold approve --sandbox "$ASKED"
	exits 0 "a person says yes"
	inside_wait HELD
	exits 0 "it goes on"
	json_is 2 'd["stdout"]["text"].count("hello four.test")' "and once more without a question"
	json_is "[]" 'd["denials"]' "nothing was denied"
	json_is '["allowed", "pending"]' 'sorted(n["verdict"] for n in d["network"])' "the record has both"

	inside_start HELD --json --policy "$W/policy.yaml" -- sh -c "${get[*]}; ${get[*]}"
	asked HELD
	pinfold deny "$ASKED"
	inside_wait HELD
	# Some clients try IPv6 and IPv4 at once.
	json_is '[["approval", true]]' '[(x["kind"], x["count"] >= 2) for x in d["denials"]]' "a no is a denial, and is not asked for again"
	json_is "" 'd["stdout"]["text"]' "nothing came"
}

request()
{
	forget
	inside_start HELD --policy "$W/policy.yaml" -- "${BARE[@]}" /usr/bin/python3 -c '
import http.client
c = http.client.HTTPConnection("good.test", timeout=40)
def ask(method, path, body=None):
    c.request(method, path, body)
    r = c.getresponse()
    return r.status, r.read().decode()
print(ask("GET", "/"), ask("POST", "/", "abc"), ask("GET", "/"))'
	asked HELD
	check "the GET went through, the POST not" test "$(seen http .)" = 1
	pinfold approve "$ASKED"
	inside_wait HELD
	prints "(200, 'hello good.test ') (200, 'hello good.test abc') (200, 'hello good.test ')" "one connection, one question"
	inside_start HELD --policy "$W/policy.yaml" -- curl -s --max-time 40 -d x http://good.test/
	asked HELD
	kill -TERM "$HELD_PID"
	inside_wait HELD
	pinfold approvals --json
	prints '{"items":[],"next":null}' "who was ended asks nothing any more"
}

checks()
{
	network || return
	policy
	connection
	request
}

run_egress
