#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: gate-each, gate-hop
#
# HTTP in the clear: every request is judged and written anew; what two readers could read
# differently is refused, on both sides.
. "$(dirname "$0")/../lib/egress.sh"

policy()
{
	cat >"$W/policy.yaml" <<-EOT
		allow:
		  - host: good.test
		    port: 80
		    protocol: http
		  - host: good.test
		    port: 81
		    protocol: http
	EOT
	own "$W"
}

checks()
{
	network || return
	forget
	policy
	inside_json --policy "$W/policy.yaml" -- "${BARE[@]}" /usr/bin/python3 -I -c \
		"$(cat "$EGRESS_DIR/http.py")"
	json_is "pipeline: 3
pipeline with a bad one: 1 true false
hop by hop: 1
old: b'ab0ab1ab2ab3ab4'
a head too long for the proxy: true
done" 'd["stdout"]["text"].strip().replace("True", "true").replace("False", "false")' \
		"nothing ambiguous passes"
	check "the server saw six requests and no other" test "$(seen http .)" = 6
	check "each for its own host" test "$(seen http '^GET good.test /[a-z0-9]* 0 80 ')" = 6
	check "without what belongs to a connection" test \
		"$(seen http '/hop .*(x-inject|proxy-auth|upgrade|te,|trailer|keep-alive|http2|fer_enc|tent.len)')" = 0
	check "and with the rest" test "$(seen http '/hop .*x-kept')" = 1
	json_has 'any("other.test" in x["what"] or "Host" in x["what"] or "host" in x["what"]
		for x in d["denials"])' "another host is told"
	untouched "HTTP"
}

run_egress
