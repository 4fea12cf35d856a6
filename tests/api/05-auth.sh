#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: api-host, api-origin, api-scope, api-tenant, api-rights, api-expiry
#
# Who may: tokens, scopes, tenants, and requests that a browser was made to send.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/api.sh"
. "$(dirname "$0")/../lib/client.sh"

# with_token PATH: the status that a request with SECRET has.
with_token()
{
	curl -s -m 10 -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $SECRET" \
		"http://127.0.0.1:$PORT$1"
}

token_is()
{
	[ "$(with_token /v1/runs)" = "$1" ]
}

tokens()
{
	local secret id

	pinfold token new --scope files --scope run,approve --json
	body_has 'd["scopes"] == ["run", "files", "approve"]' "scopes add up"
	pinfold token rm "$(body 'd["id"]')" --json
	exits 0 "options behind the words"
	pinfold token new --tenant t --scope run,files --label 'for tests' --json
	exits 0 "a token is made"
	body_has 'd["scopes"] == ["run", "files"] and d["tenant"] == "t"' "with its scopes and tenant"
	body_has 'len(d["token"]) >= 52' "it has 256 bits"
	body_has 'd["created"].endswith("Z") and d["created"][:2] == "20" and d["expires"] is None' "since when"
	secret=$(body 'd["token"]')
	id=$(body 'd["id"]')
	SECRET=$secret
	check "it is good" token_is 200
	pinfold token ls --json
	body_has 'a[0] in [t["id"] for t in d["items"]]' "it is listed" "$id"
	check "its text is never shown again" test -z "$(grep -F "$secret" "$OUT")"
	check "nor is it anywhere on disk" test -z "$(grep -rlF "$secret" "$M/home" 2>/dev/null)"
	check "only its hash is" grep -rqF "$(printf %s "$secret" | sha256sum | cut -d' ' -f1)" "$M/home"
	check "nobody else may read that" test "$(stat -c %a "$M/home/api/tokens")" = 640
	check "it is in no command line or environment" test -z "$(cat /proc/"$DAEMON"/cmdline \
		/proc/"$DAEMON"/environ /proc/"$API"/cmdline 2>/dev/null | grep -aF "$secret")"
	check "nor in the log" test -z "$(grep -F "$secret" "$DAEMON_LOG")"
	pinfold token rm "$id"
	exits 0 "it is removed"
	check "and counts no more, from the next request on" token_is 401
	pinfold token rm "$id"
	exits 125 "not twice"
	token --ttl 3s
	check "one with a time to live" token_is 200
	check "ends" wait_for 8 token_is 401
	pinfold token new --scope nothing
	refuses invalid_argument nothing "a scope that is none"
	pinfold token new --tenant uid-0
	refuses invalid_argument uid- "a tenant that is a user of this machine"
	pinfold token new --tenant '../x'
	refuses invalid_argument ../x "a tenant that is a path"
	pinfold token new --label $'a\nb'
	refuses invalid_argument --label "a label of two lines"
}

# The process that speaks HTTP; tests/unit/api_confined.c has what it cannot do.
confined()
{
	check "the API has a filter of system calls" grep -q '^Seccomp:.2' "/proc/$API/status"
	check "every thread of it" test -z "$(grep -L '^Seccomp:.2' /proc/"$API"/task/*/status)"
	check "no capability" grep -q '^CapEff:.0*$' "/proc/$API/status"
	check "and gets none" grep -q '^NoNewPrivs:.1' "/proc/$API/status"
}

# Somebody else on this machine.
strangers()
{
	local id

	api POST /v1/sandboxes "{\"ttl\": \"1m\"${LIMITS}}"
	answers 201 "a sandbox of this user"
	id=$(body 'd["id"]')
	if [ "$EUID" != 0 ]; then
		skip "another user [$MODE]" "only root can be another user"
		return
	fi
	chmod 0711 "$M/run" # he comes as far as the socket
	check "another user cannot connect" test "$(setpriv --reuid 65534 --regid 65534 --clear-groups \
		curl -s -m 5 -o /dev/null -w '%{http_code}' --unix-socket "$HTTP" http://localhost/v1/runs)" = 000
	chmod 0666 "$HTTP"
	check "where he can he is a tenant of his own" test "$(setpriv --reuid 65534 --regid 65534 \
		--clear-groups curl -s -m 5 --unix-socket "$HTTP" http://localhost/v1/sandboxes)" = \
		'{"items":[],"next":null}'
	check "to whom this one is not there" test "$(setpriv --reuid 65534 --regid 65534 --clear-groups \
		curl -s -m 5 -o /dev/null -w '%{http_code}' --unix-socket "$HTTP" \
		"http://localhost/v1/sandboxes/$id")" = 404
	chmod 0600 "$HTTP"
	chmod 0700 "$M/run"
	api DELETE "/v1/sandboxes/$id"
	answers 204 "its user ends it"
}

# without_token PATH: the status on TCP.
without_token()
{
	curl -s -m 10 -o /dev/null -w '%{http_code}' "http://127.0.0.1:$PORT$1"
}

# On TCP every call needs a token, probes too, unless the operator opens those.
probes()
{
	local path

	for path in /healthz /readyz /openapi.json /v1/version /nothing; do
		check "no token: $path is refused [$MODE]" test "$(without_token "$path")" = 401
	done
	check "on the Unix socket probes need none" test "$(curl -s -m 5 -o /dev/null -w '%{http_code}' \
		--unix-socket "$HTTP" http://localhost/readyz)" = 200
	serve_stop
	serve_start --open-probes
	check "--open-probes: /healthz" test "$(without_token /healthz)" = 200
	check "--open-probes: /readyz" test "$(without_token /readyz)" = 200
	for path in /openapi.json /v1/version /metrics /v1/runs /nothing; do
		check "--open-probes opens $path to nobody" test "$(without_token "$path")" = 401
	done
	check "nor probes of another Host" test "$(curl -s -m 5 -o /dev/null -w '%{http_code}' \
		-H 'Host: evil.test' "http://127.0.0.1:$PORT/healthz")" = 403
}

# A second daemon at the same place.
second()
{
	pinfold serve
	check "a second daemon is refused" test "$RC" = 125
	check "the first still serves HTTP" api_answers
}

checks()
{
	serve_start --host api.example --origin https://ok.example
	tokens
	confined
	strangers
	second
	API_ENV=()
	for scope in run files workspaces approve admin all; do
		token --tenant own --scope "$scope"
		API_ENV+=("TOKEN_${scope^^}=$SECRET")
	done
	token --tenant foreign --scope all
	API_ENV+=("TOKEN_FOREIGN=$SECRET")
	api_run 05-auth.py
	probes
	serve_stop
}

run_checks
