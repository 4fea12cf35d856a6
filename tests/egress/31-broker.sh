#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: gate-host, gate-sni, gate-stray, gate-path, gate-verify, gate-override
#
# A secret goes to its own host and nowhere else, whatever way there a client makes up; paths and
# methods are those that the server reads; a server is who its certificate says.
. "$(dirname "$0")/../lib/egress.sh"

VALUE='sk-live-0123456789abcdef'

policy()
{
	cat >"$W/policy.yaml" <<-EOT
		allow:
		  - host: good.test
		    port: 443
		    methods: [GET, HEAD, POST, OPTIONS]
		    inject: {secret: API_KEY, header: Authorization, prefix: "Bearer "}
		  - {host: outer.test, port: 443, inject: {secret: API_KEY, header: Authorization}}
		  - {host: good.test, port: [80, 82]}
		  - {host: four.test, port: 443, protocol: https}
		  - {host: b.wild.test, port: 443, methods: [GET], paths: [/open/**]}
		  - {host: expired.test, port: 443, methods: [GET]}
		  - {host: self.test, port: 443, methods: [GET]}
		deny:
		  - {host: b.wild.test, paths: [/open/admin/**]}
	EOT
	own "$W"
}

# A certificate that was good until yesterday, and one that nobody vouches for.
odd_certificates()
{
	local key=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes)

	openssl req -new "${key[@]}" -keyout "$NET/expired.key" -out "$NET/expired.csr" -subj /CN=x \
		2>>"$NET/log"
	openssl x509 -req -in "$NET/expired.csr" -signkey "$NET/expired.key" -days -1 -extfile \
		<(echo subjectAltName=DNS:expired.test) -out "$NET/expired.crt" 2>>"$NET/log"
	openssl req -x509 "${key[@]}" -days 2 -keyout "$NET/self.key" -out "$NET/self.crt" \
		-subj /CN=self.test -addext subjectAltName=DNS:self.test 2>>"$NET/log"
	cat "$NET/expired.key" "$NET/expired.crt" >"$NET/far/expired.test.pem"
	cat "$NET/self.key" "$NET/self.crt" >"$NET/far/self.test.pem"
	cat "$NET/cert.pem" "$NET/expired.crt" >"$NET/trusted.pem"
}

with_secret()
{
	inside_json --policy "$W/policy.yaml" -- "${BARE[@]}" "$@"
}

# only_there NAME: the value is in what good.test was sent, and in nothing else.
only_there()
{
	check "$1: only its host has the secret" test -z \
		"$(grep -F "$VALUE" "$NET/far/heads" "$NET/far/sink" "$NET/far/http" |
			grep -v '^[^ ]*heads:good.test [/*]')"
}

astray()
{
	forget
	with_secret sh -c '
		code() { curl -s -m 40 -o /dev/null -w "%{http_code} " "$@"; }
		code https://good.test/own
		code https://good.test.evil.test/
		code https://good.test@four.test/at
		code https://good.test:8443/
		code http://good.test/plain
		code http://good.test:82/plain
		code -H "Host: four.test" https://good.test/front
		code -H "X-Forwarded-Host: evil.test" -H "Forwarded: host=evil.test" https://good.test/own
		code -k --connect-to good.test:443:four.test:443 https://good.test/sni
		code -L --location-trusted -H "Authorization: Bearer $API_KEY" https://good.test/to-four
		code https://outer.test/cname'
	json_is "200 000 200 000 200 200 403 200 000 403 502 " 'out.decode()' "ways that lead elsewhere"
	check "the secret came to its host" test "$(grep -cF "$VALUE" "$NET/far/heads")" = 3
	only_there "elsewhere"
	check "a server that another name leads to was asked nothing" test "$(seen http '/cname|/sni|/front')" = 0
}

# What comes back, and what is worth nothing.
back()
{
	local other

	forget
	with_secret sh -c 'echo "$API_KEY"; curl -s -m 40 -X TRACE -o /dev/null -w "%{http_code}\n" https://good.test/
		curl -s -m 40 -X OPTIONS --request-target "*" https://good.test/ -o /dev/null -w "%{http_code}\n"
		curl -s -m 40 https://good.test/echo'
	json_has '"403" in out.decode().split() and a[0].encode() not in out' "TRACE is refused, echoes are blank" \
		"$VALUE"
	other=$(json 'out.decode().split()[0]')
	with_secret sh -c "curl -s -o /dev/null -w '%{http_code} ' -H 'Authorization: Bearer $other' https://good.test/
		curl -s -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer $other' https://four.test/other"
	json_is "403 403" 'out.decode()' "another sandbox's placeholder goes nowhere"
	check "nobody has seen it" test "$(grep -cF "$other" "$NET/far/heads")" = 0
	only_there "placeholders"
}

paths()
{
	forget
	with_secret /usr/bin/python3 -I -c "$(cat "$EGRESS_DIR/paths.py")"
	json_is "passed: /open/a passed: /open/%61?x=/open/../b passed: /open/ body passed" \
		'" ".join(out.decode().split())' "only paths with one reading"
	check "the server saw those" test "$(seen http '^GET b.wild.test /open/(a|%61\?x=/open/../b|) ')" = 5
	check "and no other" test "$(seen http .)" = 5
}

servers()
{
	forget
	with_secret sh -c 'for host in expired self; do
		curl -s -o /dev/null -w "%{http_code} " https://$host.test/; done'
	json_is "502 502 " 'out.decode()' "certificates that are over, or nobody's"
	json_has 'any("expired" in x["what"] for x in d["denials"])' "which is told"
	check "those servers were asked nothing" test "$(seen http .)" = 0
}

checks()
{
	network || return
	KEYS=$M/keys
	mkdir -p "$KEYS"
	head -c 32 /dev/urandom >"$KEYS/pinfold-vault.key"
	chmod 600 "$KEYS/pinfold-vault.key"
	printf '%s\n' "$VALUE" >"$W/value"
	own "$KEYS" "$W"
	[ -e "$NET/trusted.pem" ] || odd_certificates
	CALL_ENV=(PINFOLD_RESOLVER=198.51.100.2:53 SSL_CERT_FILE="$NET/trusted.pem"
		CREDENTIALS_DIRECTORY="$KEYS")
	policy
	pinfold secret set API_KEY --file "$W/value"
	exits 0 "a secret is set"
	: >"$NET/far/heads"
	astray
	back
	paths
	servers
	untouched "the broker"
}

run_egress
