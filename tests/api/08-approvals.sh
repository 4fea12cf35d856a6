#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: api-tenant
#
# Questions to a person, over HTTP and in a terminal. The asker is the test itself.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/api.sh"
. "$(dirname "$0")/../lib/client.sh"

is_asked()
{
	api GET /v1/approvals
	grep -q '"kind": *"command"' "$OUT"
}

RULE='"policy": "commands: [{ask: env true}]"'

# asked WHAT REASON PATH BODY: its command waits for a decision over HTTP, and who decides reads the reason.
asked()
{
	local id

	api_start HELD POST "$3" "$4"
	wait_for 20 is_asked
	body_has 'd["items"][0]["why"].startswith(a[0])' "$1 says why" "$2"
	id=$(grep -o 'apr[a-z2-7]*' "$OUT" | head -n1)
	api POST "/v1/approvals/$id" '{"decision": "once"}'
	check "$1 is decided over HTTP" test "$RC" = 200
	api_wait HELD
	body_is 0 'd["exit_code"]' "and goes on"
}

# What runs of the API itself ask.
by_run()
{
	asked "a command of a run" "the build needs it" /v1/runs \
		"{\"command\": [\"env\", \"true\"], $RULE, \"reason\": \"the build needs it\"$LIMITS}"
	api POST /v1/sandboxes "{\"name\": \"asks\", $RULE, \"reason\": \"for the tests\"$LIMITS}"
	answers 201 "a sandbox whose commands are asked about"
	asked "one in a sandbox that lives" "for the tests" /v1/sandboxes/asks/exec '{"command": ["env", "true"]}'
	api DELETE /v1/sandboxes/asks
	api POST /v1/runs "{\"command\": \"true\", \"reason\": \"$(printf 'x%.0s' {1..300})\"$LIMITS}"
	answers_error 400 invalid_argument "a reason that nobody reads"
}

# The command of workspace.exec is in a process of the keeper's, in the directory of its tenant; what it asks is
# answered as all the rest: by his tokens, by the operator's, in a terminal.
by_workspace()
{
	local mine own other all body

	body="{\"command\": [\"env\", \"true\"], $RULE, \"reason\": \"for the tests\"$LIMITS}"
	token --tenant one --scope workspaces
	mine=$SECRET
	token --tenant one --scope approve
	own=$SECRET
	token --tenant two --scope approve
	other=$SECRET
	token --tenant two --scope approve,admin
	all=$SECRET
	TOKEN=$mine
	api POST /v1/workspaces '{"name": "asks"}'
	for TOKEN in "$own" "$all"; do
		decider=$TOKEN
		TOKEN=$mine
		api_start HELD POST "/v1/workspaces/asks/exec?stream=1" "$body"
		TOKEN=$decider
		wait_for 20 is_asked
		body_is '["one", "for the tests"]' '[d["items"][0]["tenant"], d["items"][0]["why"][:13]]' "a workspace's command asks"
		body_has 'd["items"][0]["who"].startswith("tok")' "on behalf of a token"
		id=$(grep -o 'apr[a-z2-7]*' "$OUT" | head -n1)
		TOKEN=$other
		api GET /v1/approvals
		body_is '[]' 'd["items"]' "which another tenant does not see"
		api POST "/v1/approvals/$id" '{"decision": "once"}'
		answers_error 404 not_found "nor may he answer it"
		TOKEN=$decider
		api POST "/v1/approvals/$id" '{"decision": "once"}'
		answers 200 "who may decides"
		api_wait HELD
		check "and it goes on" grep -q '"exit_code": *0' "$OUT"
		check "the stream told of the question" test "$(events_of "$OUT")" = "started approval result"
	done
	TOKEN=$mine
	api_start HELD POST /v1/workspaces/asks/exec "$body"
	TOKEN=
	pinfold_asked()
	{
		pinfold approvals
		grep -q '^apr.*env true' "$OUT"
	}
	wait_for 20 pinfold_asked
	pinfold deny "$(awk '/^apr.*env true/ { print $1 }' "$OUT")"
	exits 0 "or a terminal"
	api_wait HELD
	body_is '[126, "approval"]' '[d["exit_code"], d["denials"][0]["kind"]]' "and then it is refused"
	api POST /v1/workspaces '{"name": "ours"}'
	asked "one of who runs the daemon" "for the tests" /v1/workspaces/ours/exec "$body"
}

checks()
{
	local asked=$EVIDENCE/asked

	serve_start
	token --tenant one --scope approve
	API_ENV=("TOKEN_ONE=$SECRET")
	token --tenant two --scope approve,run
	API_ENV+=("TOKEN_TWO=$SECRET")
	token --tenant one
	API_ENV+=("TOKEN_RUN=$SECRET" "BOX=$M/home/api/approvals")
	api_run 08-approvals.py

	pinfold approvals --json
	prints '{"items":[],"next":null}' "nothing is asked"
	# A terminal sees both boxes; what is written there is not acted upon.
	as_user /usr/bin/python3 -B "$M/client/08-approvals.py" ask "$M/home/approvals" >"$asked" {LIVE_FD}>&- &
	local asker=$! # wait_for changes $!
	wait_for 10 grep -q ^apr "$asked"
	pinfold approvals
	check "a question, its escapes shown" grep -q "^$(head -1 "$asked") .*transfer: in ?\[2Jx" "$OUT"
	pinfold approve --for 10m "$(head -1 "$asked")"
	exits 0 "yes, for ten minutes"
	wait "$asker"
	check "is what the asker hears" grep -q "^3 600$" "$asked"
	pinfold deny "$(head -1 "$asked")"
	refuses not_found "no open question" "it cannot be answered twice: it is gone"
	by_run
	by_workspace
	serve_stop
}

run_checks
