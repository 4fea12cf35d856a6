#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: gate-policy, gate-address, gate-own, gate-sni, gate-ech
#
# What a policy does not name cannot be reached: by no spelling, by no name in TLS that differs from
# the one connected to, by no name that leads to a place it must not. The servers see nothing.
. "$(dirname "$0")/../lib/egress.sh"

# attack NAME KIND [OPTION...]: nothing of this kind works.
attack()
{
	inside_json "${@:3}" -- "${BARE[@]}" /usr/bin/python3 -I -c "$(cat "$EGRESS_DIR/attack.py")" \
		"$2" "$MODE"
	json_is done 'd["stdout"]["text"].strip()' "$1"
}

places()
{
	attack "no spelling leads anywhere" spellings --allow good.test
	json_has 'len(d["denials"]) > 20 and all(n["verdict"] == "denied" for n in d["network"])' \
		"and is told"
	json_has 'all(len(x["hint"]) > 10 for x in d["denials"])' "each with a hint"
	attack "no address that is spelt out" direct --allow good.test
	attack "no way but TCP and names" covert --allow good.test
	attack "other ports and datagrams are refused" ports --allow good.test
	json_has 'any(x["what"] == "connect good.test:8080" for x in d["denials"])' \
		"a refused port is told with the name"
	json_is '["203.0.113.9:4001", "203.0.113.9:4002", "[2001:db8:9::9]:4001", "[2001:db8:9::9]:4002", "[2001:db8:9::9]:443", "good.test:123", "good.test:443", "good.test:5353", "good.test:5355", "good.test:80"]' \
		'sorted(x["what"][7:] for x in d["denials"] if x["what"].startswith("sendto "))' \
		"datagrams are told, whichever call sent them"
	json_has 'all(("UDP" in x["hint"]) == x["what"].startswith("sendto") for x in d["denials"])' "with what would help"
	inside_json --allow good.test -- bash -c 'echo >/dev/udp/203.0.113.9/4003; echo >/dev/tcp/203.0.113.9/4004'
	json_is '["connect 203.0.113.9:4004", "sendto 203.0.113.9:4003"]' 'sorted(x["what"] for x in d["denials"])' \
		"also of who ends at once"
	json_is '[1, 1]' '[x["count"] for x in d["denials"]]' "each once"
	check "nothing came to a server" test ! -s "$NET/far/tcp" -a ! -s "$NET/far/http"
	check "nobody was asked for a name" test ! -s "$NET/far/dns"
	untouched "spellings"
}

names()
{
	attack "the name in TLS is the name" tls --allow good.test
	json_has 'any("TLS asks for other.test" in x["what"] for x in d["denials"])' \
		"another name is told"
	# One of them is the gate's own, which looks at the certificate.
	check "only good connections came to the server" test "$(seen tcp ' 443$')" = 7
	forget
	attack "names that lead elsewhere" leads --allow private.test --allow private.test:7777 \
		--allow meta.test --allow meta.test:7777 --allow loop.test --allow loop.test:7777 \
		--allow loop6.test --allow loop6.test:7777 --allow mapped.test --allow mapped.test:7777 \
		--allow host.test --allow host.test:7777 --allow nat64.test --allow nat64.test:7777 \
		--allow six-to-four.test --allow six-to-four.test:7777 --allow mixed.test --allow mixed.test:7777 \
		--allow many.test --allow many.test:7777 --allow inner.test --allow inner.test:7777 \
		--allow '*.nip.test' --allow '*.nip.test:7777'
	json_has 'any("169.254.169.254" in x["what"] for x in d["denials"])' "are told"
	json_has 'all(any(name in x["what"] and "own" in x["what"] for x in d["denials"])
		for name in ("host.test", "nat64.test", "six-to-four.test"))' "also those that a translator leads back here"
	check "nothing came to a server" test ! -s "$NET/far/tcp" -a ! -s "$NET/far/http"
	untouched "names that lead elsewhere"
	attack "a name that leads elsewhere the second time" rebind --allow "$MODE.rebind.test:7777"
	untouched "the same"
	printf 'allow: [good.test, four.test]\ndeny: [198.51.100.2]\n' >"$W/deny.yaml"
	own "$W"
	forget
	inside_json --policy "$W/deny.yaml" -- "${BARE[@]}" sh -c 'for how in "" "-k -x http://127.0.0.1:3128" "-k -x socks5h://127.0.0.1:3128"; do
		for url in http://good.test http://four.test https://good.test https://198.51.100.2 http://198.51.100.2; do
		curl -s -m 40 -o /dev/null -w "%{http_code} " $how $url/; done; done'
	json_is "502 502 000 000 000 502 502 000 000 403 502 502 000 000 000" 'd["stdout"]["text"].strip()' "an address that a rule denies is denied by every way"
	json_has 'any("198.51.100.2 (which a rule denies)" in x["what"] for x in d["denials"])' "and that is told"
	check "its server saw nothing" test ! -s "$NET/far/http"
	inside_json --allow 198.51.100.1:7777 -- "${BARE[@]}" bash -c \
		'exec 3<>/dev/tcp/198.51.100.1/7777; echo mine >&3; head -n1 <&3'
	json_is mine 'd["stdout"]["text"].strip()' "an address that a rule names itself is reached"
}

# Data with the first packet (TCP Fast Open) is a connection as any; a ping is told.
first_packet()
{
	local send='import socket, sys
for host in ("good.test", "203.0.113.9"):
    s = socket.socket()
    try:
        s.sendto(b"GET / HTTP/1.1\r\nHost: good.test\r\nConnection: close\r\n\r\n", 0x20000000, (socket.gethostbyname(host), 80))
        print(s.recv(15), flush=True)
    except OSError as e:
        print("no", flush=True)
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
except PermissionError:
    print("no ping")'

	inside_json --allow good.test -- "${BARE[@]}" /usr/bin/python3 -I -c "$send"
	json_has '"HTTP/1.1 200 OK" in d["stdout"]["text"] and "no ping" in d["stdout"]["text"]' "fast open reaches what is allowed"
	json_is '[["network", "connect 203.0.113.9:80"], ["syscall", "socket"]]' \
		'sorted([x["kind"], x["what"]] for x in d["denials"])' "and what is not is told, once"
}

hosts()
{
	forget
	inside_json --allow good.test -- "${BARE[@]}" sh -c '
		curl -sS -o /dev/null -w "%{http_code} " -H "Host: other.test" http://good.test/
		curl -sS -o /dev/null -w "%{http_code} " -H "Host: good.test:8080" http://good.test/
		curl -sS -o /dev/null -w "%{http_code}\n" http://GOOD.test./'
	json_is '403 403 200' 'd["stdout"]["text"].strip()' "Host is the name that was connected to"
	check "one request came to the server" test "$(seen http .)" = 1
	check "with the name as the rule has it" test "$(seen http '^GET good.test / ')" = 1
	inside_json --allow good.test -- "${BARE[@]}" curl -sSL -m 40 http://good.test/redirect
	json_has 'd["exit_code"] != 0 and any("169.254.169.254" in x["what"] for x in d["denials"])' \
		"a redirect is judged like any other"
	inside_json --allow other.test -- "${BARE[@]}" /usr/bin/python3 -c '
import socket
a = socket.gethostbyname("other.test")
print(a)
for name in "good.test", "GOOD.TEST", "x.good.test":
    try: print(socket.gethostbyname(name))
    except OSError: print("none")'
	json_is "198.18.0.1
none
none
none" 'd["stdout"]["text"].strip()' "each sandbox has names of its own"
}

checks()
{
	network || return
	forget
	places
	names
	hosts
	first_packet
}

run_egress
