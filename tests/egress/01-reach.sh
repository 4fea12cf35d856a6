#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a policy names can be reached, by programs that know nothing of it, and by those that like a
# proxy; what it cost is in the document.
. "$(dirname "$0")/../lib/egress.sh"

allow=(--allow good.test --allow four.test --allow six.test)

# gets NAME WORD...: the command prints the server's greeting.
gets()
{
	inside "${allow[@]}" -- "${@:2}"
	check "$1" grep -q '^hello [a-z.]*test' "$OUT"
	silent "$1: without a word"
}

clients()
{
	needs curl "curl" && {
		gets "curl, http" "${BARE[@]}" curl -s http://good.test/
		gets "curl, https" "${BARE[@]}" curl -sk https://good.test/
		gets "curl, https over IPv6" "${BARE[@]}" curl -6 -sk https://six.test/
		gets "curl by the proxy, http" curl -s http://four.test/
		gets "curl by the proxy, https" curl -sk https://good.test/
		printf 'allow:\n  - host: four.test\n    port: 80\n    protocol: tcp\n' >"$W/tcp.yaml"
		inside --policy "$W/tcp.yaml" -- curl -s http://four.test/
		check "curl by the proxy, where anything may be said" grep -q "^hello four.test" "$OUT"
		gets "curl by SOCKS" curl -sk -x socks5h://127.0.0.1:3128 https://good.test/
		gets "curl by SOCKS, which looks the name up itself" curl -sk -x socks5://127.0.0.1:3128 https://good.test/
	}
	needs wget "wget" && gets "wget" "${BARE[@]}" wget -qO- http://good.test/
	gets "python" "${BARE[@]}" /usr/bin/python3 -c \
		'import urllib.request as u; print(u.urlopen("http://good.test/").read().decode())'
	gets "python by the proxy, https" /usr/bin/python3 -c 'import urllib.request as u, ssl
print(u.urlopen("https://good.test/", context=ssl._create_unverified_context()).read().decode())'
	needs node "node" && gets "node" "${BARE[@]}" node -e \
		'fetch("http://good.test/").then(r => r.text()).then(console.log)'
	inside "${allow[@]}" -- "${BARE[@]}" sh -c \
		'printf "GET / HTTP/1.0\r\nHost: good.test\r\n\r\n" |
		openssl s_client -quiet -connect good.test:443 -servername good.test 2>/dev/null'
	check "openssl s_client" grep -q 'hello good.test' "$OUT"
	inside --allow good.test:7777 -- "${BARE[@]}" bash -c \
		'exec 3<>/dev/tcp/good.test/7777; echo there and back >&3; head -n1 <&3'
	prints "there and back" "any bytes on a port that a rule names"
}

bodies()
{
	inside "${allow[@]}" -- "${BARE[@]}" /usr/bin/python3 -c '
import http.client
c = http.client.HTTPConnection("good.test")
def ask(method, path, body=None, **head):
    c.request(method, path, body, head, encode_chunked="Transfer-Encoding" in head)
    r = c.getresponse()
    return r.status, r.read().decode()
print(ask("GET", "/chunks"), ask("HEAD", "/"), ask("POST", "/", b"x" * 100000)[1][:20])
print(ask("PUT", "/", iter([b"a", b"bc"]), **{"Transfer-Encoding": "chunked"}))
print(len(ask("GET", "/big/3000000")[1]), ask("GET", "/end"))'
	prints "(200, 'ab0ab1ab2ab3ab4') (200, '') hello good.test xxxx
(200, 'hello good.test abc')
3000000 (200, 'to the end')" "bodies of every kind, one connection"
	inside "${allow[@]}" -- "${BARE[@]}" sh -c 'curl -sk https://good.test/big/50000000 | wc -c'
	prints 50000000 "a long answer by TLS"
}

told()
{
	inside_json "${allow[@]}" -- "${BARE[@]}" curl -sk https://good.test/big/100000
	document "a run with a policy"
	json_is '[["good.test", 443, "allowed", 1, true, true]]' '[[n["host"], n["port"], n["verdict"],
		n["count"], n["bytes_in"] > 100000, 300 < n["bytes_out"] < 3000] for n in d["network"]]' \
		"what was reached"
	json_has '"good.test" in d["network"][0]["rule"]' "the rule is named"
	json_is '[]' 'd["denials"]' "nothing was denied"
	inside "${allow[@]}" -- sh -c 'env | grep -i _proxy= | sort'
	check "proxies are named to programs" grep -qx 'HTTPS_PROXY=http://127.0.0.1:3128' "$OUT"
	inside "${allow[@]}" --env HTTPS_PROXY=x -- printenv HTTPS_PROXY
	prints x "but the caller's word counts"
	inside "${allow[@]}" -- /usr/bin/python3 -c '
import socket
s = socket.create_server(("127.0.0.1", 0))
socket.create_connection(s.getsockname())
print("own")'
	prints own "the sandbox's own loopback works"
	inside -- sh -c 'env | grep -ci proxy; cat /proc/net/route | wc -l'
	prints "0
1" "without a policy there is no proxy and no route"
	inside --isolation landlock "${allow[@]}" -- true
	refuses unsupported --allow "level landlock"
}

checks()
{
	network || return
	clients
	bodies
	told
	untouched "all of it"
}

run_egress
