#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: gate-certificate, gate-second
#
# TLS that is passed through: before a sandbox's hello reaches a server, the gate has seen there that
# the certificate is valid, and for that name. The clients here believe whatever they are shown.
. "$(dirname "$0")/../lib/egress.sh"

# What the server shows to who asks for these names: a certificate that nobody knows, one of which the
# time is over.
certificates_too()
{
	local key=$NET/key.pem

	{ cat "$key"; openssl req -x509 -new -key "$key" -days 2 -subj /CN=self.test \
		-addext subjectAltName=DNS:self.test; } >"$NET/far/self.test.pem" 2>>"$NET/log"
	{ cat "$key"; openssl req -new -key "$key" -subj /CN=expired.test | openssl x509 -req \
		-CA "$NET/cert.pem" -CAkey "$key" -set_serial 2 -days -1 \
		-extfile <(echo subjectAltName=DNS:expired.test); } >"$NET/far/expired.test.pem" \
		2>>"$NET/log"
}

# refused HOST WHY: nothing is said there, and it is told.
refused()
{
	forget
	inside_json --allow "$1:443" -- "${BARE[@]}" sh -c "curl -sk https://$1/ || echo refused"
	json_is refused 'd["stdout"]["text"].strip()' "$1 is refused"
	json_has "any('connect $1:443' in x['what'] and '$2' in x['what'] and x['hint']
		for x in d['denials'])" "and why: $2"
	check "it saw no request" test "$(seen http .)" = 0
}

# A server that asks for a second hello believes the name in that one.
second()
{
	local tls="{host: good.test, port: 448, protocol: tls}" name

	echo "allow: [$tls]" >"$W/second.yaml"
	own "$W"
	inside --policy "$W/second.yaml" -- "${BARE[@]}" sh -c 'for ip in -4 -6; do
		curl -sk $ip --curves X25519:P-256 https://good.test:448/; done
		curl -sk --curves X25519:P-256 --proxytunnel --proxy http://127.0.0.1:3128 https://good.test:448/'
	prints "hello good.test:448 hello good.test:448 hello good.test:448 " \
		"a client that is asked for a second hello"
	inside --policy "$W/second.yaml" -- "${BARE[@]}" curl -sS --tls-max 1.2 --ciphers AES128-SHA https://good.test:448/
	check "what the server has against a hello comes to the client" grep -q 'alert handshake failure' "$ERR"
	for name in good.test other.test; do
		for how in late early; do
			: >"$NET/far/sni"
			inside_json --policy "$W/second.yaml" -- "${BARE[@]}" /usr/bin/python3 -I -c \
				"$(cat "$EGRESS_DIR/second.py")" good.test 448 "$name" "$how"
			case $name-$how in
			good.test-late) json_is "asked again connected" 'd["stdout"]["text"].strip()' "one by hand" ;;
			other.test-*)
				json_has 'out.decode().strip().endswith(" cut")' "the second names another, $how"
				json_has 'any("TLS asks for other.test" in x["what"] for x in d["denials"])' "which is told"
				;;
			esac
			check "$name, $how: the server has heard no other name" test "$(seen sni '^other')" = 0
		done
	done
}

checks()
{
	network || return
	certificates_too
	inside --allow good.test -- "${BARE[@]}" curl -sk https://good.test/
	prints "hello good.test " "a server with a good certificate"
	forget
	inside --allow good.test -- "${BARE[@]}" sh -c 'for i in 1 2 3 4; do
		curl -sk -4 https://good.test/ & done; wait; curl -sk -4 https://good.test/ | wc -c'
	check "is asked for it once, by many at a time" test "$(seen tcp ' 443')" = 6
	refused other.test mismatch
	refused self.test "self-signed"
	refused expired.test "has expired"
	inside --allow self.test:443 --allow good.test:443 -- "${BARE[@]}" sh -c \
		'curl -sk --proxy http://127.0.0.1:3128 https://self.test/ || echo refused
		curl -sk --proxy socks5h://127.0.0.1:3128 https://self.test/ || echo refused
		curl -sk --proxy http://127.0.0.1:3128 https://good.test/'
	prints "refused
refused
hello good.test " "nor does a proxy lead there"
	CALL_ENV=(PINFOLD_RESOLVER=198.51.100.2:53)
	inside --allow good.test:443 -- "${BARE[@]}" sh -c 'curl -sk https://good.test/ || echo refused'
	prints refused "an authority that the host does not know is none"
	CALL_ENV+=(SSL_CERT_FILE="$NET/cert.pem")
	echo 'allow: [{host: self.test, port: 443, protocol: tcp}]' >"$W/tcp.yaml"
	own "$W"
	inside --policy "$W/tcp.yaml" -- "${BARE[@]}" curl -sk https://self.test/
	prints "hello self.test " "as the hint says, tcp looks at nothing"
	second
	untouched "TLS"
}

run_egress
