#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What servers answer is kept, and given again: then no server is reached, whatever is asked for.
. "$(dirname "$0")/../lib/egress.sh"

ASK='import http.client, ssl, sys
def ask(c, method, path, body=None):
    c.request(method, path, body)
    r = c.getresponse()
    text = r.read()
    return r.status, len(text), hash(text) if len(text) > 99 else text
h = http.client.HTTPConnection("good.test", timeout=40)
print(ask(h, "GET", "/"), ask(h, "POST", "/", "abc"), ask(h, "POST", "/", "abcd"), ask(h, "HEAD", "/"))
print(ask(h, "GET", "/no"), ask(h, "GET", "/?a=1&b=%20"), ask(h, "GET", "/"), ask(h, "GET", "/end"))
s = http.client.HTTPSConnection("good.test", timeout=40)
print(ask(s, "GET", "/"), ask(s, "GET", "/big/300000"), ask(s, "GET", "/chunks"))
'

# Two and more of the same text, however it is made.
same()
{
	check "$3" test "$1" = "$2" -a -n "$1"
}

recorded()
{
	forget
	CALL_ENV=(PINFOLD_RESOLVER=198.51.100.2:53 "SSL_CERT_FILE=$NET/cert.pem" PYTHONHASHSEED=0)
	inside_json --record --allow good.test --env PYTHONHASHSEED=0 -- "${BARE[@]}" /usr/bin/python3 -c "$ASK"
	json_is 0 'd["exit_code"]' "a run is recorded"
	json_is '[11, true]' '[d["recording"]["exchanges"], d["recording"]["complete"]]' "all that it asked for"
	SAID=$(json 'd["stdout"]["text"]')
	TAPE=$(json 'd["recording"]["sha256"]')
	check "its list has the name of its digest" test "$(sha256sum <"$M/home/recordings/$TAPE")" = "$TAPE  -"
}

replayed()
{
	forget
	inside_json --answers "$TAPE" --allow good.test --env PYTHONHASHSEED=0 -- "${BARE[@]}" /usr/bin/python3 -c "$ASK"
	same "$(json 'd["stdout"]["text"]')" "$SAID" "the recording gives the same answers"
	check "and no server, of names neither, was asked" test ! -s "$NET/far/http" -a ! -s "$NET/far/dns" -a ! -s "$NET/far/tcp"
	inside_json --answers "$TAPE" --allow good.test --allow good.test:7777 --allow other.test -- "${BARE[@]}" sh -c '
		curl -s -o /dev/null -w "%{http_code} " http://good.test/new
		curl -s -o /dev/null -w "%{http_code} " -d x http://good.test/
		curl -s -o /dev/null -w "%{http_code} " http://other.test/
		exec 3<>/dev/tcp/good.test/7777; echo hello >&3; cat <&3' bash
	json_is '502 502 502' 'd["stdout"]["text"].strip()' "what was not recorded has no answer"
	json_has 'any(x["what"] == "connect good.test:7777" for x in d["denials"]) or d["exit_code"] != 0' \
		"what is no http is refused"
	check "and still no server was asked" test ! -s "$NET/far/http" -a ! -s "$NET/far/dns" -a ! -s "$NET/far/tcp"
}

odd()
{
	local one

	inside --answers 12 --allow good.test -- true
	refuses invalid_argument digest "no digest"
	inside --answers "$(printf '0%.0s' {1..64})" --allow good.test -- true
	refuses not_found recording "one that there is not"
	one=$(awk 'NR == 2 { print $2 }' "$M/home/recordings/$TAPE")
	printf x >>"$M/home/recordings/$one"
	inside --answers "$TAPE" --allow good.test -- true
	refuses invalid_argument damaged "one that was changed"
	inside_json --record --allow good.test:7777 -- "${BARE[@]}" /usr/bin/python3 -c '
import socket
s = socket.create_connection(("good.test", 7777), 20)
s.sendall(b"hello\n")
s.recv(100)'
	json_is '[0, false]' '[d["recording"]["exchanges"], d["recording"]["complete"]]' "what nobody looks into is not whole"
}

# Values of secrets are neither asked for by nor found in it.
secret()
{
	printf 'correct-horse-battery' >"$W/value"
	printf 'allow:\n  - host: good.test\n    port: 443\n    paths: ["/**"]\n    inject: {secret: KEY, header: X-Key}\n' >"$W/inject.yaml"
	own "$W"
	pinfold secret set KEY --file "$W/value"
	inside_json --record --policy "$W/inject.yaml" -- "${BARE[@]}" curl -s https://good.test/echo
	json_has '"X-Key: ****" in d["stdout"]["text"]' "a secret goes out"
	TAPE=$(json 'd["recording"]["sha256"]')
	check "and is not in what is kept" test -z "$(grep -rl correct-horse "$M/home/recordings")"
	SAID=$(json 'd["stdout"]["text"]')
	pinfold secret rm KEY
	inside_json --answers "$TAPE" --policy "$W/inject.yaml" -- "${BARE[@]}" curl -s https://good.test/echo
	same "$(json 'd["stdout"]["text"]')" "$SAID" "a replay needs no secret"
}

# pinfold replay has the recording, too, and asks nobody.
again()
{
	local run

	inside_json --deterministic --record --allow good.test -- "${BARE[@]}" /usr/bin/python3 -c "$ASK"
	run=$(json 'd["id"]')
	forget
	pinfold replay "$run"
	exits 0 "a run that reached the network, again"
	check "it asked nobody" test ! -s "$NET/far/http" -a ! -s "$NET/far/dns" -a ! -s "$NET/far/tcp"
	inside_json --deterministic --allow good.test -- true
	pinfold replay "$(json 'd["id"]')"
	refuses unsupported record "one that was not recorded"
	inside_json --deterministic --record --allow good.test -- "${BARE[@]}" /usr/bin/python3 -c '
import socket, urllib.request
cookie = socket.socket(socket.AF_UNIX).getsockopt(socket.SOL_SOCKET, 71, 8).hex() # of its network: no two are alike
print(urllib.request.urlopen("http://good.test/" + cookie).status)'
	run=$(json 'd["id"]')
	forget
	pinfold replay "$run"
	exits 1 "one that asks for something else differs"
	check "and asks nobody" test ! -s "$NET/far/http" -a ! -s "$NET/far/dns" -a ! -s "$NET/far/tcp"
}

checks()
{
	network || return
	recorded
	again
	replayed
	odd
	secret
}

run_egress
