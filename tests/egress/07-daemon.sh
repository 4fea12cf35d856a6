#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# With a daemon: it makes the sandbox, the caller has the gate. By HTTP: runs and sandboxes that live.
. "$(dirname "$0")/../lib/egress.sh"
. "$LIB_DIR/daemon.sh"
. "$LIB_DIR/api.sh"
. "$LIB_DIR/client.sh"

caller()
{
	inside_json --daemon "${BEST[@]}" --allow good.test -- "${BARE[@]}" curl -s http://good.test/
	json_is 'hello good.test' 'd["stdout"]["text"].strip()' "a run in the daemon reaches its host"
	json_is '["cold", [["good.test", "allowed"]]]' '[d["start"], [[n["host"], n["verdict"]]
		for n in d["network"]]]' "made for it, and told"
	inside_json --daemon "${BEST[@]}" --allow good.test -- "${BARE[@]}" curl -sS http://good.test:8080/ \
		http://other.test/
	json_is '["connect good.test:8080", "name lookup (DNS) other.test"]' \
		'sorted(x["what"] for x in d["denials"])' "and no other"
	inside_json --daemon "${BEST[@]}" -- "${BARE[@]}" curl -sS -m 5 http://198.51.100.2/
	json_has 'd["exit_code"] == 7 and len(d["denials"]) == 1' "one without a policy reaches nothing"
	printf 'allow:\n  - {host: good.test, methods: [GET], paths: [/]}\n' >"$W/policy.yaml"
	own "$W"
	CALL_ENV+=("SSL_CERT_FILE=$NET/cert.pem")
	inside_json --daemon "${BEST[@]}" --policy "$W/policy.yaml" -- "${BARE[@]}" sh -c \
		'curl -s https://good.test/; curl -s -o /dev/null -w " %{http_code}" https://good.test/no'
	json_is 'hello good.test  403' 'd["stdout"]["text"].strip()' "and https is looked into"
	inside --detach "${BEST[@]}" --allow good.test -- true
	refuses invalid_argument --allow "--detach"
}

by_http()
{
	local id

	api POST /v1/runs "{\"command\": \"curl -s http://good.test/\", \"allow\": [\"good.test\"]$LIMITS}"
	check "by HTTP: a run reaches its host" grep -q '"text": *"hello good.test' "$OUT"
	check "and is told" grep -q '"verdict": *"allowed"' "$OUT"
	api POST /v1/runs "{\"command\": \"curl -sS http://good.test/\",
		\"policy\": \"allow: [other.test]\"$LIMITS}"
	check "by HTTP: a policy counts" grep -q '"verdict": *"denied"' "$OUT"
	api POST /v1/runs '{"command": "true", "policy": "alow: []"}'
	check "by HTTP: a bad policy is refused" test "$RC" = 400
	api POST /v1/sandboxes "{\"allow\": [\"good.test\"]$LIMITS}"
	id=$(/usr/bin/python3 -I -c 'import json, sys; print(json.load(sys.stdin)["id"])' <"$OUT")
	check "by HTTP: a sandbox that lives" test "$RC" = 201
	api POST "/v1/sandboxes/$id/exec" '{"command": "curl -s http://good.test/"}'
	check "has its way out" grep -q '"text": *"hello good.test' "$OUT"
	api POST "/v1/sandboxes/$id/exec" '{"command": "curl -sS http://198.51.100.2/ http://other.test/"}'
	check "and no other" test "$(seen http ' 198.51|other')" = 0
	api POST "/v1/sandboxes/$id/exec" '{"command": "true", "allow": ["other.test"]}'
	check "which a command cannot widen" test "$RC" != 200
	api DELETE "/v1/sandboxes/$id"
	check "it ends" test "$RC" -lt 300
}

checks()
{
	network || return
	forget
	BEST=()
	[ "$MODE" = R ] || BEST=(--limits best-effort)
	serve_start
	caller
	by_http
	untouched "all of it"
	serve_stop
	check "the daemon ends, and every gate" test -z \
		"$(nsenter "--net=/proc/$NEAR/ns/net" true; for p in $(pgrep -x pinfold-gate); do
			[ "$(readlink "/proc/$p/ns/net")" = "$(readlink "/proc/$NEAR/ns/net")" ] &&
			echo "$p"; done)"
}

run_egress
