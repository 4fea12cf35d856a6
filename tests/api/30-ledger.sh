#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Calls over HTTP are on record, with who made them; GET /v1/events has them as they come, goes on where a
# stream broke, and shows no tenant what is another's.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/api.sh"

# stream FILE PATH: events into a file, in the background.
stream()
{
	api_start S GET "$2"
	eval "$1=\$S_OUT"
}

is_ready()
{
	api GET /readyz
	[ "$RC" = 200 ]
}

has()
{
	grep -qF -e "$2" "$1"
}

numbers()
{
	sed -n 's/^id: //p' "$1" | tr '\n' ' '
}

recorded()
{
	local all late id secret=canary-7d4c1b9e2f5a6038

	stream all '/v1/events?from=0'
	api POST /v1/runs "{\"command\": [\"echo\", \"hi\"], \"env\": {\"KEY\": \"$secret\"}, \"stdin\": \"$secret\"$BEST}"
	check "a run over HTTP" test "$RC" = 200
	id=$(/usr/bin/python3 -I -c 'import json, sys; print(json.load(open(sys.argv[1]))["id"])' "$OUT")
	check "its end is heard" wait_for 5 has "$all" "\"phase\":\"end\",\"run\":\"$id\""
	check "and the call's" wait_for 5 has "$all" '"kind":"api.run.create","phase":"end"'
	check "with who called" has "$all" "\"tenant\":\"uid-$CALLER\""
	api POST /v1/runs '{"no-such": 1}'
	check "a refusal, too" wait_for 5 has "$all" '"kind":"api.run.create","phase":"refused"'
	check "no secret is told" test -z "$(grep -F "$secret" "$all")"
	check "or kept" test -z "$(grep -rlF "$secret" "$M/home/api/ledger")"
	api_start L GET /v1/events '' -H 'Last-Event-ID: 3'
	late=$L_OUT
	check "a stream goes on where another broke" wait_for 5 has "$late" 'id: 4'
	check "and not before" test "$(numbers "$late" | cut -d' ' -f1)" = 4
	api_start K GET '/v1/events?from=0&kind=run'
	check "a kind alone" wait_for 5 has "$K_OUT" '"phase":"end"'
	check "and no other" test -z "$(grep -F '"kind":"api.' "$K_OUT")"
}

# Nobody hears of another tenant, whatever he may.
tenants()
{
	local mine

	pinfold token new --tenant other --scope all
	TOKEN=$(cat "$OUT")
	stream mine '/v1/events?from=0'
	api POST /v1/runs "{\"command\": [\"echo\", \"of other\"]$BEST}"
	check "a tenant hears of itself" wait_for 5 has "$mine" '"command":["echo","of other"]'
	check "by its token" grep -qE '"token":"tok[a-z0-9]+"' "$mine"
	check "and of nobody else" test -z "$(grep '^data:' "$mine" | grep -vF '"tenant":"other"')"
	TOKEN=
	pinfold token new --tenant other --scope run
	TOKEN=$(cat "$OUT")
	api GET /v1/events
	check "who may not administer hears nothing" test "$RC" = 403
	TOKEN=
}

checks()
{
	local BEST='' CALLER=0 PORT

	[ "$MODE" = U ] && BEST=', "limits": "best-effort"' && CALLER=$(id -u "$USER_NAME")
	needs curl setpriv "the ledger over HTTP" || return
	chmod 0711 "$M/run" # root's API is somebody else, as at the usual place
	PORT=$(free_port)
	daemon_start --warm 1 --warm-python 0 --listen "127.0.0.1:$PORT"
	wait_for 20 is_ready
	recorded
	tenants
	daemon_stop
	pinfold verify
	exits 0 "all chains are good"
	check "with all events under a checkpoint" test -z "$(grep newer "$OUT")"
	check "the API's among them" has "$OUT" api/ledger
}

run_checks
