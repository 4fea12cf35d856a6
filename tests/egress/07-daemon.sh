#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: keeper-tenant
#
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
	inside_json --daemon "${BEST[@]}" -- "${BARE[@]}" curl -sS -m 40 http://198.51.100.2/
	json_has 'd["exit_code"] == 7 and len(d["denials"]) == 1' "one without a policy reaches nothing"
	printf 'allow:\n  - {host: good.test, methods: [GET], paths: [/]}\n' >"$W/policy.yaml"
	own "$W"
	CALL_ENV+=("SSL_CERT_FILE=$NET/cert.pem")
	inside_json --daemon "${BEST[@]}" --policy "$W/policy.yaml" -- "${BARE[@]}" sh -c \
		'curl -s https://good.test/; curl -s -o /dev/null -w " %{http_code}" https://good.test/no'
	json_is 'hello good.test  403' 'd["stdout"]["text"].strip()' "and https is looked into"
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
	api POST /v1/workspaces '{"name": "net"}'
	api POST /v1/workspaces/net/exec "{\"command\": \"curl -s http://good.test/; curl -sS http://other.test/\",
		\"allow\": [\"good.test\"]$LIMITS}"
	check "by HTTP: a workspace's command reaches its host" grep -q '"text": *"hello good.test' "$OUT"
	check "and no other" grep -q '"verdict": *"denied"' "$OUT"
	api POST /v1/workspaces/net/exec "{\"command\": \"curl -s http://good.test/\",
		\"policy\": \"{\\\"allow\\\": [\\\"good.test\\\"], \\\"deny\\\": [\\\"good.test:80\\\"]}\"$LIMITS}"
	check "by HTTP: and a policy counts there" test "$(grep -c 'hello good' "$OUT")" = 0
	api POST /v1/workspaces/net/exec '{"command": "true", "policy": "alow: []"}'
	check "by HTTP: a bad one is refused" test "$RC" = 400
	api DELETE "/v1/sandboxes/$id"
	check "it ends" test "$RC" -lt 300
}

# One gate has both. A server that serves one sandbox again is new for the other, and knows it not.
apart()
{
	local one two body

	body="{\"policy\": \"allow: [{host: good.test, port: 444, protocol: https}]\"$LIMITS}"
	api POST /v1/sandboxes "$body"
	one=$(/usr/bin/python3 -I -c 'import json, sys; print(json.load(sys.stdin)["id"])' <"$OUT")
	api POST /v1/sandboxes "$body"
	two=$(/usr/bin/python3 -I -c 'import json, sys; print(json.load(sys.stdin)["id"])' <"$OUT")
	api POST "/v1/sandboxes/$one/exec" '{"command": "curl -s https://good.test:444/; curl -s https://good.test:444/"}'
	check "by HTTP: a server serves a sandbox again" grep -q '"text": *"c[0-9]* r1 newc[0-9]* r2 new"' "$OUT"
	api POST "/v1/sandboxes/$two/exec" '{"command": "curl -s https://good.test:444/"}'
	check "and another one as somebody else" grep -q '"text": *"c[0-9]* r1 new"' "$OUT"
	api DELETE "/v1/sandboxes/$one"
	api DELETE "/v1/sandboxes/$two"
}

# A tenant's runs, sandboxes and commands in workspaces share what he may use.
quotas()
{
	local run get='for i in 1 2; do curl -s -o /dev/null -w \"%{http_code} \" http://good.test/; done'

	run="{\"command\": \"$get\", \"policy\": \"allow: [{host: good.test, port: 80, methods: [GET]}]\"$LIMITS}"
	forget
	pinfold tenant set '*' --total-egress-requests 5/30d
	api POST /v1/runs "$run"
	check "quotas: a run" grep -q '"text": *"200 200 "' "$OUT"
	api POST /v1/workspaces/net/exec "$run"
	check "quotas: a command in a workspace" grep -q '"text": *"200 200 "' "$OUT"
	api POST /v1/sandboxes "{\"name\": \"q\", \"policy\": \"allow: [{host: good.test, port: 80, methods: [GET]}]\"$LIMITS}"
	api POST /v1/sandboxes/q/exec "{\"command\": \"$get\"}"
	check "quotas: a sandbox gets what is left" grep -q '"text": *"200 429 "' "$OUT"
	check "quotas: which is told as a denial" grep -q "tenant's quota of requests is used up" "$OUT"
	check "quotas: no more reached the server" test "$(seen http GET)" = 5
	api POST /v1/runs "$run"
	check "quotas: then nothing with a policy starts" test "$RC" = 429
	check "quotas: for a reason" grep -q '"code": *"limit_exceeded.egress_requests"' "$OUT"
	api POST /v1/runs "{\"command\": \"true\"$LIMITS}"
	check "quotas: others do" test "$RC" = 200
	api GET /v1/usage
	check "quotas: what was used" grep -q '"egress_requests": *5,' "$OUT"
	check "quotas: is told" grep -q '"over": *"egress_requests"' "$OUT"
	pinfold tenant set '*' --total-egress-requests 6/30d
	check "quotas: a higher one counts for what runs" wait_for 10 goes_on
	pinfold tenant rm '*'
	api DELETE /v1/sandboxes/q
}

# Hosts of presets are those of this machine's configuration, for who runs the daemon; in policies over HTTP as well.
presets()
{
	local get='curl -s -o /dev/null -w \"%{http_code} \" http://good.test/; curl -s -o /dev/null -w \"%{http_code}\" -d x http://good.test/'
	local policy='"policy": {"allow": [{"preset": "pip"}]}'

	api POST /v1/runs "{\"command\": \"$get\", $policy$LIMITS}"
	check "presets: of a run, for reading alone" grep -q '"text": *"200 403"' "$OUT"
	check "presets: which the rule says" grep -q '"rule": *"preset pip: good.test"' "$OUT"
	api POST /v1/sandboxes "{\"name\": \"p\", $policy$LIMITS}"
	api POST /v1/sandboxes/p/exec "{\"command\": \"$get\"}"
	check "presets: of a sandbox that lives" grep -q '"text": *"200 403"' "$OUT"
	api PUT /v1/sandboxes/p/policy '{"policy": {"allow": []}}'
	api PUT /v1/sandboxes/p/policy "{$policy}"
	check "presets: and of a policy that it gets later" grep -q 'preset pip: good.test' "$OUT"
	api DELETE /v1/sandboxes/p
	api POST /v1/workspaces/net/exec "{\"command\": \"$get\", $policy$LIMITS}"
	check "presets: of a command in a workspace" grep -q '"text": *"200 403"' "$OUT"
}

# as TOKEN METHOD PATH BODY [CURL-OPTION...]: by TCP, on the daemon's side of the network. Sets OUT and RC.
as()
{
	call_files curl "${@:2}"
	RC=$("${CALL_OUTER[@]}" /usr/bin/curl -sS -m 60 -H "Content-Type: application/json" -H "Authorization: Bearer $1" \
		-X "$2" -d "$4" "${@:5}" -o "$OUT" -w '%{http_code}' "http://127.0.0.1:$PORT$3" 2>"$ERR")
}

# keys VALUE: how often the servers were sent it.
keys()
{
	grep -cF "$1" "$NET/far/keys"
}

# mcp_exec TOKEN COMMAND [MORE]: by MCP, of an era without sessions; its client can show forms.
mcp_exec()
{
	as "$1" POST /mcp '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "sandbox_exec", "arguments": {"command": "'"$2"'"},
		"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
		"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}'"${3:-}"'}}' \
		-H "Mcp-Protocol-Version: 2026-07-28" -H "Mcp-Method: tools/call" -H "Mcp-Name: sandbox_exec"
}

# The same in sandboxes that live. Variables of secrets().
secrets_live()
{
	local box mark other evil='{host: b.wild.test, port: 443, protocol: https}'

	policy="${policy%]}, $evil]"
	as "$two" POST /v1/sandboxes "{\"policy\": \"$policy\"$LIMITS}"
	check "secrets: a sandbox of who has none is not made" test "$RC" = 404
	check "secrets: which names the secret" grep -q '"message": *"there is no secret API_KEY"' "$OUT"
	check "secrets: and who can help" grep -q 'pinfold secret set API_KEY --tenant two' "$OUT"
	check "secrets: and no path" test "$(grep -c "$M" "$OUT")" = 0
	as "$one" POST /v1/sandboxes "{\"policy\": \"$policy\"$LIMITS}"
	check "secrets: his sandbox that lives" test "$RC" = 201
	box=/v1/sandboxes/$(grep -o 'sbx[a-z2-7]*' "$OUT" | head -n1)
	as "$one" POST "$box/exec" '{"command": "echo $API_KEY; curl -s https://good.test/echo"}'
	mark=$(grep -o 'pfs_[a-z2-7]*' "$OUT" | head -n1)
	check "secrets: has a placeholder" test -n "$mark"
	check "secrets: whose value the server gets" test "$(keys "Bearer $value")" = 2
	check "secrets: and which does not come back" test "$(grep -c "$value" "$OUT")" = 0
	as "$one" POST "$box/exec" '{"command": "curl -s -o /dev/null -w %{http_code} -d $API_KEY https://b.wild.test/"}'
	check "secrets: elsewhere it is refused" grep -q '"text": *"502"' "$OUT"
	check "secrets: with an alarm" grep -q '"alerts": *\[{"rule": *"secret"' "$OUT"
	as "$one" POST "$box/sessions" '{"lang": "bash", "name": "s"}'
	as "$one" POST "$box/sessions/s/execute" '{"code": "curl -s -o /dev/null -H \"Authorization: Bearer $API_KEY\" https://good.test/"}'
	check "secrets: an interpreter in it has it, too" test "$(keys "Bearer $value")" = 3
	as "$one" POST "$box/fork" '{}'
	other=/v1/sandboxes/$(grep -o 'sbx[a-z2-7]*' "$OUT" | head -n1)
	as "$one" POST "$other/exec" '{"command": "env"}'
	check "secrets: a fork has none" test "$RC$(grep -c pfs_ "$OUT")" = 2000
	as "$one" PUT "$box/policy" "{\"policy\": \"allow: [good.test]\"}"
	as "$one" POST "$box/exec" '{"command": "curl -s -o /dev/null -H \"Authorization: Bearer $API_KEY\" https://good.test/"}'
	check "secrets: a policy without it takes it away" test "$(keys "Bearer $value")" = 3
	as "$one" PUT "$box/policy" "{\"policy\": \"${policy//API_KEY/OTHER}\"}"
	check "secrets: none is added later" test "$RC" = 409
	mcp_exec "$one" 'curl -s -o /dev/null -w %{http_code} https://good.test/'
	check "secrets: by MCP the policy of the server injects them" grep -q 'stdout:.n200' "$OUT"
	mcp_exec "$one" 'env true; echo $?'
	check "asked: a rule's question is the client's to show" grep -q '"resultType":"input_required".*the command env true' "$OUT"
	mcp_exec "$one" 'env true; echo $?' ', "inputResponses": {"approval": {"action": "accept", "content": {"decision": "once"}}},
		"requestState": "'"$(sed 's/.*"requestState":"\([^"]*\)".*/\1/' "$OUT")"'"'
	check "asked: and what was begun goes on with the answer" grep -q 'stdout:.n0.n' "$OUT"
	mcp_exec "$two" true
	check "secrets: and who has none gets no sandbox" grep -q 'not_found.secret.*API_KEY --tenant two' "$OUT"
	check "secrets: the server gets the value by MCP" test "$(keys "Bearer $value")" = 4
	as "$one" DELETE "$box" ''
	as "$one" DELETE "$other" ''
}

# A tenant's secret is for his runs, put there by who runs the daemon. Red where the keeper does not go to the
# tenant's own directory: then all have ours.
secrets()
{
	local one two value=sk-live-$MODE-0123456789abcdef run policy

	policy='allow: [{host: good.test, port: 443, inject: [{secret: API_KEY, header: Authorization, prefix: \"Bearer \"}]}]'
	run="{\"command\": \"echo \$API_KEY; curl -s https://good.test/echo\", \"policy\": \"$policy\"$LIMITS}"
	token --tenant one
	one=$SECRET
	token --tenant two
	two=$SECRET
	echo "$value" >"$W/value"
	own "$W/value"
	pinfold secret set API_KEY --tenant one --file "$W/value"
	exits 0 "secrets: one is set for a tenant"
	pinfold secret ls
	check "secrets: it is not ours" test "$(grep -c API_KEY "$OUT")" = 0
	echo "own-$value" >"$W/value"
	own "$W/value"
	pinfold secret set API_KEY --file "$W/value"
	rm "$W/value"
	pinfold secret ls --tenant one
	check "secrets: it is his" grep -q '^API_KEY' "$OUT"
	pinfold secret set API_KEY --tenant ../one --file /dev/null
	refuses invalid_argument tenant "secrets: a name that is a path"
	forget
	as "$one" POST /v1/runs "$run"
	check "secrets: his run has a placeholder" grep -q '"text": *"pfs_' "$OUT"
	check "secrets: the server gets the value" test "$(keys "Bearer $value")" = 1
	check "secrets: which does not come back" test "$(grep -c "$value" "$OUT")" = 0
	as "$two" POST /v1/runs "$run"
	check "secrets: another tenant has none of that name" grep -q '"code": *"not_found' "$OUT"
	api POST /v1/runs "$run"
	check "secrets: who runs the daemon has his own" test "$(keys "Bearer own-$value")" = 1
	secrets_live
	check "secrets: no other reached the server" test "$(keys "$value")" = 5
	check "secrets: the value is in no file, log or answer" test -z "$(grep -rlF "$value" "$M/home" "$M/run" "$DAEMON_LOG" "$EVIDENCE")"
	pinfold secret rm API_KEY --tenant one
	as "$one" POST /v1/runs "$run"
	check "secrets: one that was removed is gone" grep -q '"code": *"not_found' "$OUT"
}

goes_on()
{
	api POST /v1/sandboxes/q/exec '{"command": "curl -s http://good.test/"}'
	grep -q 'hello good' "$OUT"
}

checks()
{
	network || return
	forget
	BEST=()
	[ "$MODE" = R ] || BEST=(--limits best-effort)
	echo 'allow: [{host: good.test, port: 443, inject: {secret: API_KEY, header: Authorization, prefix: "Bearer "}}]
commands: [{ask: env true}]' >"$W/mcp.yaml"
	own "$W/mcp.yaml"
	CALL_ENV+=(PIP_INDEX_URL=http://good.test/simple)
	serve_start --mcp-policy "$W/mcp.yaml"
	caller
	by_http
	apart
	presets
	quotas
	secrets
	untouched "all of it"
	serve_stop
	check "the daemon ends, and every gate" test -z "$(gates)"
}

run_egress
