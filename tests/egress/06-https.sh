#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: gate-verify, gate-path, gate-host, gate-override
#
# HTTPS that is looked into: TLS ends at the gate, by an authority that this sandbox alone trusts;
# methods and paths are judged; servers are believed by the host's authorities and by nothing else.
. "$(dirname "$0")/../lib/egress.sh"

policy()
{
	cat >"$W/policy.yaml" <<-EOT
		allow:
		  - host: good.test
		    methods: [GET, HEAD]
		    paths: [/, /open/**, /big/*, /chunks, /end]
		  - host: good.test
		    methods: [POST]
		    paths: [/upload]
		  - host: other.test
		    protocol: https
		    port: 443
	EOT
	own "$W"
}

# looked WORD...: a run with the policy.
looked()
{
	inside --policy "$W/policy.yaml" -- "$@"
}

# gets NAME WORD...: the command prints the server's greeting.
gets()
{
	looked "${@:2}"
	check "$1" grep -q '^hello good.test' "$OUT"
}

clients()
{
	needs curl "curl" && {
		gets "curl" "${BARE[@]}" curl -s https://good.test/
		gets "curl by the proxy" curl -s https://good.test/
		gets "curl without variables" env -i curl -s https://good.test/
	}
	needs wget "wget" && gets "wget" "${BARE[@]}" env -u SSL_CERT_FILE wget -qO- https://good.test/
	gets "python" "${BARE[@]}" /usr/bin/python3 -c \
		'import urllib.request as u; print(u.urlopen("https://good.test/").read().decode())'
	needs node "node" && gets "node" "${BARE[@]}" node -e \
		'fetch("https://good.test/").then(r => r.text()).then(console.log)'
	looked "${BARE[@]}" sh -c 'curl -s https://good.test/big/20000000 | wc -c'
	prints 20000000 "a long answer"
	looked "${BARE[@]}" sh -c 'curl -s https://good.test/chunks https://good.test/end'
	prints "ab0ab1ab2ab3ab4to the end" "answers of other kinds, on one connection"
	looked "${BARE[@]}" sh -c 'head -c 3000000 /dev/zero | tr "\0" x |
		curl -s --data-binary @- https://good.test/upload | head -c 20'
	prints "hello good.test xxxx" "a long request"
}

judged()
{
	forget
	inside_json --policy "$W/policy.yaml" -- "${BARE[@]}" sh -c '
		curl -s -o /dev/null -w "%{http_code} " -X DELETE https://good.test/
		curl -s -o /dev/null -w "%{http_code} " -X POST https://good.test/
		curl -s -o /dev/null -w "%{http_code} " https://good.test/secret
		curl -s -o /dev/null -w "%{http_code} " --path-as-is https://good.test/open/../secret
		curl -s -o /dev/null -w "%{http_code} " --path-as-is https://good.test/open/%2e%2e/secret
		curl -s -o /dev/null -w "%{http_code} " -H "Host: other.test" https://good.test/
		curl -s -o /dev/null -w "%{http_code} " -H "X-HTTP-Method-Override: delete" https://good.test/
		curl -s -o /dev/null -w "%{http_code} " https://good.test/open/a/b
		curl -s -o /dev/null -o /dev/null -w "%{http_code}" https://good.test/open/a?q=hidden https://good.test/secret'
	json_is '403 403 403 403 403 403 403 200 200403' 'out.decode()' "each request is judged on its own"
	check "the server saw what was allowed" test "$(seen http '^GET good.test /open/a(/b|\?q=hidden)? ')" = 2
	check "and nothing else" test "$(seen http .)" = 2
	json_has 'any(x["what"] == "DELETE https://good.test/" and x["hint"] for x in d["denials"])' \
		"what was refused is told, with a hint"
	json_has 'any(n["host"] == "good.test" and n["port"] == 443 and n["verdict"] == "allowed"
		for n in d["network"])' "what was reached is told"
	json_is "GET /open/a/b 200
GET /open/a 200" '"\n".join("%s %s %d" % (q["method"], q["path"], q["status"])
		for n in d["network"] if n["verdict"] == "allowed" for q in n.get("requests", []))' "with each request, without its query"
	json_has '{"DELETE /", "GET /secret"} <= {"%s %s" % (q["method"], q["path"]) for n in d["network"]
		if n["verdict"] == "denied" for q in n.get("requests", []) if q["status"] == 403}' "those that were refused, too"
	check "in the ledger, too" grep -q \
		'"method":"GET","ms":[0-9]*,"path":"/open/a","port":443,"status":200' "$M/home/ledger/events"
}

# Names have to be the same everywhere.
names()
{
	forget
	looked "${BARE[@]}" sh -c 'for sni in evil.test other.test good.test.evil.test; do
		openssl s_client -connect good.test:443 -servername $sni </dev/null >/dev/null 2>&1 &&
			echo $sni
		done
		openssl s_client -connect good.test:443 -noservername </dev/null >/dev/null 2>&1 && echo none
		openssl s_client -connect good.test:443 -servername good.test </dev/null >/dev/null 2>&1 &&
			echo good'
	prints good "another name in the hello, or none, is refused"
	check "and the server heard nothing" test "$(seen http .)" = 0
	looked "${BARE[@]}" sh -c 'curl -s -o /dev/null -w "%{http_code}" https://other.test/'
	prints 502 "a server whose certificate is another's is not asked"
	inside_json --policy "$W/policy.yaml" -- "${BARE[@]}" curl -s https://other.test/
	json_has 'any("mismatch" in x["what"] for x in d["denials"])' "which is told"
	check "it saw no request" test "$(seen http .)" = 0
	CALL_ENV=(PINFOLD_RESOLVER=198.51.100.2:53)
	looked "${BARE[@]}" sh -c 'curl -s -o /dev/null -w "%{http_code}" https://good.test/'
	prints 502 "nor is one whose authority the host does not know"
	CALL_ENV=(PINFOLD_RESOLVER=198.51.100.2:53 SSL_CERT_FILE="$NET/cert.pem")
}

authority()
{
	local one

	looked sh -c 'grep -c BEGIN /etc/pinfold-ca.pem; cat /etc/pinfold-ca.pem'
	check "one authority" grep -qx 1 <(head -1 "$OUT")
	one=$(tail -n +2 "$OUT")
	looked cat /etc/pinfold-ca.pem
	check "another for each sandbox" test "$one" != "$(cat "$OUT")"
	check "it ends within a day" test -z "$(openssl x509 -in "$OUT" -noout -checkend 86400 2>/dev/null |
		grep 'will not')"
	looked sh -c 'grep -rls "PRIVATE KEY" /etc /run /tmp 2>/dev/null; ls /etc/pinfold*.pem'
	check "no key is inside" test "$(cat "$OUT")" = "/etc/pinfold-ca.pem
/etc/pinfold-certs.pem"
	looked sh -c 'echo x >>/etc/pinfold-certs.pem; echo x >>/etc/ssl/certs/ca-certificates.crt; :'
	check "what is trusted cannot be changed" test "$(grep -c -i 'denied\|read-only' "$ERR")" = 2
	inside --allow good.test -- sh -c 'ls /etc | grep pinfold; env | grep CERT_FILE; echo done'
	prints done "a policy that does not look into TLS has none"
}

checks()
{
	network || return
	CALL_ENV=(PINFOLD_RESOLVER=198.51.100.2:53 SSL_CERT_FILE="$NET/cert.pem")
	policy
	clients
	judged
	names
	authority
	untouched "HTTPS"
}

run_egress
