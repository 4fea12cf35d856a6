#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: gate-override
#
# WebSockets where requests are judged: a rule has to allow them, both sides have to agree, then bytes
# pass, within the rule's limits and without secrets.
. "$(dirname "$0")/../lib/egress.sh"

VALUE='sk-live/0123456789+abcdef'

policy()
{
	cat >"$W/policy.yaml" <<-EOT
		allow:
		  - {host: good.test, port: 80, protocol: http}
		  - {host: good.test, port: 443, methods: [GET, WEBSOCKET], paths: [/ws*]}
		  - {host: four.test, port: 443, methods: [GET, HEAD]}
		  - {host: a.wild.test, port: 80, protocol: http, bytes_up: 3000}
		  - {host: six.test, port: 80, protocol: http}
		deny:
		  - {host: six.test, port: 80, methods: [WEBSOCKET]}
	EOT
	cat >"$W/secret.yaml" <<-EOT
		allow:
		  - host: good.test
		    port: 443
		    inject: {secret: API_KEY, header: Authorization, prefix: "Bearer "}
	EOT
	printf '%s\n' "$VALUE" >"$W/value"
	head -c 32 /dev/urandom >"$W/pinfold-vault.key"
	chmod 600 "$W/pinfold-vault.key"
	own "$W"
	CALL_ENV=(PINFOLD_RESOLVER=198.51.100.2:53 SSL_CERT_FILE="$NET/cert.pem"
		CREDENTIALS_DIRECTORY="$W")
}

# talks POLICY CASE...: what tests/egress/ws.py prints.
talks()
{
	inside_json --policy "$W/$1.yaml" -- "${BARE[@]}" /usr/bin/python3 -I -c \
		"$(cat "$EGRESS_DIR/ws.py")" "${@:2}"
}

judged()
{
	forget
	talks policy "http=ws://good.test/ws hello world" "https=wss://good.test/ws hello world" \
		"forbidden=ws://six.test/ws" "read-only=wss://four.test/ws" "path=wss://good.test/x" \
		"wrong=ws://good.test/ws-wrong" "declined=ws://good.test/none" \
		"long=ws://a.wild.test/ws $(printf 'x%.0s' {1..4000})"
	json_is "http (b'hello world', True, b'', b'')
https (b'hello world', True, b'', b'')
forbidden 403
read-only 403
path 403
wrong 502
declined 200
long broken
version 426
key 400 400
body 400
method 405
h2c 200 101" 'd["stdout"]["text"].strip()' "who may, and how it is asked for"
	json_has 'any(x["what"] == "WEBSOCKET https://four.test/ws" and x["hint"] for x in d["denials"])' \
		"that a rule does not allow it is told"
	check "the server saw what was allowed" test "$(seen http '^GET (good|a.wild).test /ws 0 .*upgrade')" = 4
	check "and nothing for the others" test "$(seen http '^GET (six|four).test')" = 0
}

secrets()
{
	pinfold secret set API_KEY --file "$W/value"
	talks secret "key=wss://good.test/ws-key" "packed=wss://good.test/ws-packed" \
		'out=wss://good.test/ws my key is $API_KEY'
	json_has 'b"key b\"Bearer *****" in out.replace(b"\x27", b"\"") and b"0123456789" not in out' \
		"a key goes out with the request, and does not come back in frames"
	json_has 'b"packed 502" in out' "packed frames could not be looked into"
	json_has 'b"out broken" in out and any("placeholder" in x["what"] for x in d["denials"])' \
		"a placeholder behind a mask is seen"
	check "and does not come to the server" test "$(seen ws 'pfs_')" = 0
}

checks()
{
	network || return
	policy
	judged
	secrets
	untouched "WebSockets"
}

run_egress
