#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs over HTTP: what is asked for, what comes back, and how wrong requests are refused.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/api.sh"
. "$(dirname "$0")/../lib/client.sh"

# With curl, as a person would.
by_hand()
{
	local id

	api POST /v1/runs "{\"command\": [\"echo\", \"hello\"]$LIMITS}"
	answers 200 "a run with curl"
	json_is hello 'out.decode().strip()' "its output"
	id=$(json 'd["id"]')
	api GET "/v1/runs/$id/stdout"
	prints hello "its whole output"
	api GET "/v1/runs/$id/stdout" '' --head
	answers 200 "HEAD of it"
	check "HEAD says how long it is" test "$(header content-length)" = 6
	api GET "/v1/runs/$id/stdout" '' -H 'Range: bytes=1-3'
	answers 206 "a range of it"
	prints ell "is that range"
	check "every answer has a request id" grep -qE '^req[a-z2-7]{26}$' <(header request-id)
	as_user curl -s -m 20 --unix-socket "$HTTP" -d "{\"command\": \"exit 4\"$LIMITS}" \
		http://localhost/v1/runs >"$OUT"
	json_is 4 'd["exit_code"]' "what curl -d calls a form is JSON on the Unix socket"
	api POST '/v1/runs?stream=1' "{\"command\": \"echo hi\"$LIMITS}"
	check "a stream with curl" test "$(events_of "$OUT")" = "started stdout result"
}

checks()
{
	serve_start
	by_hand
	api_run 01-runs.py
	serve_stop
}

run_checks
