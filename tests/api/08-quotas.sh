#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: api-quota
#
# Quotas of tenants: what is refused, what is ended, what a restart remembers.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/api.sh"
. "$(dirname "$0")/../lib/client.sh"

verb()
{
	pinfold tenant set one --live 5 --runs-per-minute 1000 --cpu-seconds 3600/day
	exits 0 "quotas are set"
	pinfold tenant set one --total-memory 4G --budget 100/30d
	pinfold tenant ls --json
	body_is '[{"tenant": "one", "live": 5, "runs_per_minute": 1000, "memory": 4294967296, "disk": null, "cpu_seconds": 3600, "cpu_seconds_period_s": 86400, "budget": 100, "budget_period_s": 2592000, "egress_bytes": null, "egress_bytes_period_s": null, "egress_connections": null, "egress_connections_period_s": null, "egress_requests": null, "egress_requests_period_s": null}]' \
		'd["items"]' "those that are not named stay"
	pinfold tenant set one --live none --total-memory none
	pinfold tenant ls
	check "none removes one" grep -q '^one  *-  *1000  *-  *-  *3600/24h  *100/30d$' "$OUT"
	check "nobody else may read them" test "$(stat -c %a "$M/home/api/tenants")" = 640
	pinfold tenant set one --total-egress-bytes 10M/day --total-egress-requests 5/hour
	pinfold tenant ls
	check "those of the network have a line of their own" grep -q '^   egress-bytes 10M/24h, egress-requests 5/60m$' "$OUT"
	pinfold tenant rm one
	exits 0 "all of a tenant are removed"
	pinfold tenant rm one
	exits 125 "not twice"
	pinfold tenant set one
	refuses invalid_argument quota "nothing to set"
	pinfold tenant set one --cpu-seconds 10
	refuses invalid_argument period "no period"
	pinfold tenant set one --budget 10/400d
	refuses invalid_argument year "too long a one"
	pinfold tenant set one --live -3
	refuses invalid_argument live "a negative number"
	pinfold tenant set ../x --live 3
	refuses invalid_argument ../x "a name that is a path"
}

# api_again: the process that serves is killed; what comes back must know.
api_again()
{
	local old=$API

	kill -9 "$old"
	check "it is started again" wait_for 10 other_api "$old"
	API=$(api_pid)
}

other_api()
{
	api_answers && [ -n "$(api_pid)" ] && [ "$(api_pid)" != "$1" ]
}

# usage_has TOKEN EXPRESSION
usage_has()
{
	TOKEN=$1 api GET /v1/usage
	[ "$(body "$2")" = true ]
}

restart()
{
	local used

	pinfold tenant set three --live 1
	TOKEN=$THREE api POST /v1/sandboxes "{\"ttl\": \"5m\"${LIMITS}}"
	answers 201 "a sandbox"
	TOKEN=$THREE api GET /v1/usage
	used=$(body 'd["usage"]["runs_total"]')
	check "what was used is in a file" wait_for 5 grep -q '^tenant three ' "$M/home/api/state/usage"
	check "that nobody else may read" test "$(stat -c %a "$M/home/api/state")" = 700
	api_again
	check "after a restart the sandbox counts" wait_for 5 usage_has "$THREE" 'd["usage"]["live"] == 1'
	TOKEN=$THREE api GET /v1/usage
	body_has 'd["usage"]["runs_total"] == int(a[0])' "and so does what was started" "$used"
	TOKEN=$THREE api POST /v1/sandboxes "{\"ttl\": \"5m\"${LIMITS}}"
	answers_error 429 limit_exceeded "a second one"
	TOKEN=$THREE api GET /v1/sandboxes
	TOKEN=$THREE api DELETE "/v1/sandboxes/$(body 'd["items"][0]["id"]')"
	TOKEN=$THREE api POST /v1/sandboxes "{\"ttl\": \"5m\"${LIMITS}}"
	answers 201 "one that ended makes room"
}

damaged()
{
	printf 'one live=x\n' >"$M/home/api/tenants"
	TOKEN=$THREE api POST /v1/runs "{\"command\": [\"true\"]${LIMITS}}"
	check "quotas that cannot be read let nobody start" test "$RC" = 500
	pinfold tenant ls
	exits 125 "and are said to be damaged"
	rm "$M/home/api/tenants"
	TOKEN=$THREE api POST /v1/runs "{\"command\": [\"true\"]${LIMITS}}"
	answers 200 "without the file nobody has a quota"
}

checks()
{
	serve_start
	verb
	token --tenant one
	API_ENV=("TOKEN_ONE=$SECRET")
	token --tenant two
	API_ENV+=("TOKEN_TWO=$SECRET")
	token --tenant four
	API_ENV+=("TOKEN_FOUR=$SECRET")
	token --tenant five
	API_ENV+=("TOKEN_FIVE=$SECRET")
	token --tenant boss --scope admin
	API_ENV+=("TOKEN_ADMIN=$SECRET")
	token --tenant three
	THREE=$SECRET
	pinfold tenant set one --live 5
	pinfold tenant set two --runs-per-minute 4 --total-memory 600M --total-disk 290M
	pinfold tenant set four --budget 2/1h
	pinfold tenant set five --cpu-seconds 1/1h
	api_run 08-quotas.py
	restart
	damaged
	serve_stop
}

run_checks
