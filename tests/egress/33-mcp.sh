#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The policy that a server of MCP gives to its sandboxes: secrets, and rules that ask.
. "$(dirname "$0")/../lib/egress.sh"
. "$LIB_DIR/mcp.sh"

VALUE=sk-live-0123456789abcdef

policy()
{
	cat >"$W/policy.yaml" <<-EOT
		allow:
		  - host: good.test
		    port: 443
		    inject: {secret: API_KEY, header: Authorization, prefix: "Bearer "}
		  - {host: b.wild.test, port: 443, protocol: https}
	EOT
	own "$W/policy.yaml"
}

secrets()
{
	policy
	echo "$VALUE" >"$W/value"
	own "$W/value"
	pinfold secret set API_KEY --file "$W/value"
	rm "$W/value"
	forget
	: >"$NET/far/keys"
	play secrets --policy "$W/policy.yaml"
	check "the server has the value, each time" test "$(grep -cF "Bearer $VALUE" "$NET/far/keys")" = 3
	check "and nobody else" test "$(grep -cF "$VALUE" "$OUT" "$ERR" | grep -vc ':0$')" = 0
	echo 'alow: []' >"$W/policy.yaml"
	pinfold mcp --policy "$W/policy.yaml"
	refuses invalid_argument "line 1" "a policy that is none is refused at once"
}

asked()
{
	printf 'ask: [{host: good.test, port: 80, methods: [GET]}]\ncommands: [{ask: env true}]\n' >"$W/ask.yaml"
	own "$W/ask.yaml"
	forget
	play asked --policy "$W/ask.yaml"
	check "what nobody allowed did not go out" test "$(seen http 'GET')" = 8
}

checks()
{
	network || return
	secrets
	asked
	untouched "all of it"
}

run_egress
