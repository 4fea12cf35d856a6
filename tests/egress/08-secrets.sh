#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Secrets: inside there is a placeholder; the value goes out to its own host alone, in its own place,
# and does not come back.
. "$(dirname "$0")/../lib/egress.sh"

VALUE='sk-live/0123456789+"abcdef'

policy()
{
	cat >"$W/policy.yaml" <<-EOT
		allow:
		  - host: good.test
		    port: 443
		    inject:
		      - {secret: API_KEY, header: Authorization, prefix: "Bearer "}
		  - host: four.test
		    port: 443
		    paths: [/echo*]
		    inject:
		      - {secret: API_KEY, query: key}
		  - host: a.wild.test
		    port: 443
		    inject:
		      - {secret: API_KEY, basic: user}
		  - host: b.wild.test
		    port: 443
		    protocol: https
		  - host: good.test
		    port: 80
	EOT
	own "$W"
}

# keep NAME [OPTION...]: sets a secret to VALUE.
keep()
{
	printf '%s\n' "$VALUE" >"$W/value"
	own "$W"
	pinfold secret set "$1" --file "$W/value" "${@:2}"
	rm -f "$W/value"
}

with_secret()
{
	inside --policy "$W/policy.yaml" -- "${BARE[@]}" "$@"
}

# nowhere NAME: the value is not in what the last run printed.
nowhere()
{
	check "$1" test -z "$(grep -F -e 0123456789 -e 'MDEyMzQ1Njc4' "$OUT" "$ERR")"
}

vault()
{
	keep API_KEY
	exits 0 "a secret is set"
	check "its value is not printed" test ! -s "$OUT" -a ! -s "$ERR"
	pinfold secret ls
	check "it is listed" grep -q '^API_KEY ' "$OUT"
	nowhere "without its value"
	check "which is nowhere in the data directory" test -z \
		"$(grep -rlF 0123456789 "$M/home" 2>/dev/null)"
	check "nor is its name" test -z "$(grep -rlF API_KEY "$M/home" 2>/dev/null)"
	check "the file is the user's own" test "$(stat -c %a "$M/home/secrets")" = 600
	check "the key lies elsewhere" test "$(stat -c %s "$KEYS/pinfold-vault.key")" = 32
	pinfold secret set 1BAD --file /dev/null
	refuses invalid_argument 1BAD "a name that is none"
	pinfold secret set OTHER --file /dev/null
	refuses invalid_argument "no line" "a value that is none"
	pinfold secret rm NOBODY
	refuses not_found NOBODY "one that is not there"
}

out()
{
	forget
	with_secret sh -c 'curl -s https://good.test/; curl -s -o /dev/null -w " %{http_code}" \
		-H "Authorization: Bearer $API_KEY" https://good.test/echo'
	prints "hello good.test  200" "requests go out with the secret, or with its placeholder"
	check "the server has the value" test "$(grep -cF "Bearer $VALUE" "$NET/far/keys")" = 2
	with_secret curl -s 'https://four.test/echo?a=b'
	check "as a parameter" grep -qF '/echo?a=b&key=sk-live%2F0123456789%2B%22abcdef' "$NET/far/http"
	with_secret curl -s https://a.wild.test/
	check "as basic auth" grep -qF "Basic $(printf 'user:%s' "$VALUE" | base64 -w0)" "$NET/far/keys"
}

inside_of_it()
{
	with_secret sh -c 'echo "$API_KEY"; env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr "\0" "\n"'
	check "inside there is a placeholder" grep -qE '^pfs_[a-z2-7]{32}$' <(head -1 "$OUT")
	nowhere "and nothing else"
	local one
	one=$(head -1 "$OUT")
	with_secret sh -c 'echo "$API_KEY"'
	check "another one in each sandbox" test "$one" != "$(head -1 "$OUT")"
	with_secret sh -c 'curl -s -D - https://good.test/echo; curl -s https://good.test/echo.chunks
		curl -s -r 0-60 https://good.test/echo; curl -s --compressed https://good.test/echo.gzip'
	check "what the server echoes comes back" grep -q '^Authorization: Bearer \*\*\*' "$OUT"
	nowhere "without the value: in fields, bodies, pieces"
	check "nor in parts: ranges are not asked for" test "$(seen http 'range|accept-encoding')" = 0
	with_secret sh -c 'curl -s https://four.test/echo; curl -s https://a.wild.test/echo'
	check "nor as URL or base64" grep -q '\*\*\*' "$OUT"
	nowhere "are they to be had"
	inside_json --policy "$W/policy.yaml" -- "${BARE[@]}" curl -s https://good.test/echo
	nowhere "nor from the document"
}

alarms()
{
	forget
	inside_json --policy "$W/policy.yaml" -- "${BARE[@]}" sh -c '
		code() { curl -s -o /dev/null -w "%{http_code} " "$@"; }
		code -H "Authorization: Bearer $API_KEY" https://b.wild.test/
		code "https://b.wild.test/?x=$API_KEY"
		code -d "x=$API_KEY" https://b.wild.test/
		code -H "X-Note: $API_KEY" https://good.test/
		code -H "Authorization: Bearer $API_KEY" http://good.test/
		code -H "Authorization: Bearer mine" https://good.test/
		code -H "x-api-key: mine" https://good.test/
		code -H "Authorization: Bearer pfs_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" https://good.test/'
	json_is "403 403 000 403 403 403 403 403 " 'out.decode()' "a placeholder anywhere else is refused"
	check "no server saw a request" test "$(seen http .)" = 0
	json_has 'sum(x["count"] for x in d["denials"] if "placeholder of a secret" in x["what"]) == 5' \
		"five alarms are told"
	json_has 'any("credential of its own" in x["what"] for x in d["denials"])' \
		"a client with its own key is told, too"
}

ends()
{
	keep ONCE --uses 1
	sed 's/API_KEY/ONCE/' "$W/policy.yaml" >"$W/once.yaml"
	own "$W"
	inside --policy "$W/once.yaml" -- true
	exits 0 "a secret for one sandbox"
	inside --policy "$W/once.yaml" -- true
	refuses not_found ONCE "and no more"
	pinfold secret rm API_KEY
	exits 0 "one is removed"
	inside --policy "$W/policy.yaml" -- true
	refuses not_found API_KEY "a run without it"
}

checks()
{
	network || return
	KEYS=$M/keys
	mkdir -p "$KEYS"
	head -c 32 /dev/urandom >"$KEYS/pinfold-vault.key"
	chmod 600 "$KEYS/pinfold-vault.key"
	own "$KEYS"
	CALL_ENV=(PINFOLD_RESOLVER=198.51.100.2:53 SSL_CERT_FILE="$NET/cert.pem"
		CREDENTIALS_DIRECTORY="$KEYS")
	: >"$NET/far/keys"
	policy
	vault
	out
	inside_of_it
	alarms
	ends
	untouched "secrets"
}

run_egress
