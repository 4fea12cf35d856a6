#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The process that speaks HTTP is replaced while a hundred runs go on, and killed: no run is lost that
# somebody waits for, none that nobody waits for, and what the old one has is found through the new one.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/api.sh"
. "$(dirname "$0")/../lib/client.sh"

elders_are()
{
	[ "$(pgrep -P "$(pgrep -P "$DAEMON" -x pinfold-http)" -x pinfold-elder | wc -l)" = "$1" ]
}

run_is()
{
	api GET "/v1/runs/$1"
	[ "$RC" = "$2" ]
}

# It is its maker's, who stays as long as it lives. Without pinfold_policy_holds() in boxes.c nobody finds him.
way_out()
{
	local look='for h in a.test b.test; do getent ahostsv4 $h >/dev/null && echo +$h; done; true'

	api POST /v1/sandboxes/net/exec "{\"command\": \"$look\"}"
	check "a way out stays" test "$(body 'd["stdout"]["text"].split()')" = '["+a.test"]'
	check "and what it refuses is told" grep -q '"what": *"name lookup (DNS) b.test"' "$OUT"
	api PUT /v1/sandboxes/net/policy '{"allow": ["b.test"]}'
	answers 200 "it can be changed"
	api POST /v1/sandboxes/net/exec "{\"command\": \"$look\"}"
	check "and is another then" test "$(body 'd["stdout"]["text"].split()')" = '["+b.test"]'
	check "by who made it" elders_are 1
	api DELETE /v1/sandboxes/net
	answers 204 "with its end"
}

# What is not kept any more is nobody's.
kept_for()
{
	local id first

	serve_start --keep 8s --keep-bytes 300K
	api POST /v1/runs "{\"command\": \"head -c 80000 /dev/zero | tr '\\\\0' x\"$LIMITS}"
	first=$(body 'd["id"]')
	api POST /v1/runs "{\"command\": \"head -c 80000 /dev/zero | tr '\\\\0' x\"$LIMITS}"
	id=$(body 'd["id"]')
	api POST /v1/runs "{\"command\": \"true\"$LIMITS}"
	check "more than is kept: the older is gone" run_is "$first" 404
	check "the newer is there" run_is "$id" 200
	check "for a while" wait_for 40 run_is "$id" 404
	api POST /v1/sandboxes "{\"name\": \"net\", \"allow\": [\"a.test\"]$LIMITS}"
	answers 201 "a sandbox with a way out"
	kill -HUP "$DAEMON"
	check "a process that was replaced" wait_for 20 grep -q 'a new process serves' "$DAEMON_LOG"
	way_out
	check "ends when nobody can ask for what it has" wait_for 20 elders_are 0
	api GET /healthz
	answers 200 "the other serves"
	serve_stop
}

checks()
{
	two_tenants 10-replace.py
	kept_for
}

run_checks
