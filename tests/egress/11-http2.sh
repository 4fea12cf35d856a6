#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: gate-each
#
# HTTP/2 where TLS ends at the gate: each stream is a request as any other, judged by the same rules.
. "$(dirname "$0")/../lib/egress.sh"

policy()
{
	cat >"$W/policy.yaml" <<-EOT
		allow:
		  - host: good.test
		    port: 443
		    methods: [GET, HEAD]
		    paths: [/, /open/**, /big/*, /chunks, /end, /echo*]
		  - host: good.test
		    port: 443
		    methods: [POST]
		    paths: [/upload]
		  - {host: six.test, port: 443, methods: [GET], connections: 2}
		ask:
		  - {host: good.test, port: 443, methods: [POST], paths: [/held]}
	EOT
	own "$W"
}

looked()
{
	inside --policy "$W/policy.yaml" -- "${BARE[@]}" "$@"
}

clients()
{
	looked curl -s --http2 -w ' %{http_version}' https://good.test/
	prints "hello good.test  2" "curl"
	looked sh -c 'curl -s --http2 https://good.test/big/20000000 | wc -c'
	prints 20000000 "a long answer"
	looked curl -s --http2 https://good.test/chunks https://good.test/end
	prints "ab0ab1ab2ab3ab4to the end" "answers of other kinds, on one connection"
	looked sh -c 'head -c 3000000 /dev/zero | tr "\0" x |
		curl -s --http2 --data-binary @- https://good.test/upload | head -c 20'
	prints "hello good.test xxxx" "a long request"
	looked sh -c 'head -c 3000000 /dev/zero | tr "\0" x | curl -s --http2 -T - -X POST \
		https://good.test/upload | head -c 20'
	prints "hello good.test xxxx" "one whose length nobody said"
	looked sh -c 'curl -s --http2 -I https://good.test/ | head -c 10'
	prints "HTTP/2 200" "HEAD"
}

# node KIND: what tests/egress/h2.js prints.
node_says()
{
	inside_json --policy "$W/policy.yaml" -- "${BARE[@]}" node -e "$(cat "$EGRESS_DIR/h2.js")" x "$1"
}

judged()
{
	forget
	node_says judged
	json_is "get 200
path 403
dots 403
method 403
authority 403
scheme 400
host 403
override 403
post 200
empty 200
cookies 200
many 40" '"\n".join(" ".join(l.replace(":", "").split()[:2]) for l in out.decode().splitlines())' \
		"each stream is judged on its own"
	check "the server saw what was allowed" test "$(seen http '^GET good.test /open/[0-9]* ')" = 40
	check "and nothing else" test "$(seen http .)" = 45
	check "bodies as they were sent" test "$(seen http '^POST good.test /upload [30] ')" = 2
	check "cookies in one piece" test "$(seen http '/open/cookie 0 443 cookie,host$')" = 1
	json_has 'any(x["what"] == "GET https://good.test/secret" and x["hint"] for x in d["denials"])' \
		"what was refused is told, with a hint"
	json_has 'sum(n["count"] for n in d["network"] if n["verdict"] == "allowed") == 45' \
		"and each that was allowed is in the record"
	forget
	node_says few
	json_is "few: 6" 'out.decode().strip()' "more streams than the rule has connections"
	check "go on as many" test "$(seen tcp ' 443')" -le 2
}

held()
{
	forget
	inside_start HELD --policy "$W/policy.yaml" -- "${BARE[@]}" node -e "$(cat "$EGRESS_DIR/h2.js")" x held
	wait_for 20 grep -q '^pinfold: waits for approval: ' "$HELD_ERR"
	check "a stream that waits holds up no other" wait_for 20 grep -q '^get: 200' "$HELD_OUT"
	check "and has not reached the server" test "$(seen http '^POST')" = 0
	pinfold approve "$(grep -o 'pinfold approve apr[a-z2-7]*' "$HELD_ERR" | awk '{ print $3 }')"
	inside_wait HELD
	check "a yes lets it go on" grep -q '^post: 200 hello good.test abc' "$OUT"
}

hostile()
{
	forget
	node_says hostile
	json_is "good answer
connection reset
te reset
transfer-encoding reset
upper reset
CR LF reset
LF reset
NUL reset
colon reset
blank reset
upgrade reset
protocol reset
late pseudo reset
length reset
two lengths reset
path with blank reset
path with CR LF reset
longer reset
shorter reset
connect answer
continuations goaway
large head answer
resets goaway
pings goaway
settings goaway
nothing goaway
no preface refused" '"\n".join(l.replace(":", "").rstrip("0123456789 ") for l in out.decode().splitlines())' \
		"what is no good HTTP/2"
	check "nothing of it came to the server" test -z "$(grep -v "^GET good.test / 0 443 host$" "$NET/far/http")"
}

# A server that speaks HTTP/2, too: who asks by it is asked for by it. Nothing else differs.
servers()
{
	local get="${BARE[*]} curl -s -m 20 --http2" at=https://good.test:445

	if [ ! -e "$NET/far/h2" ]; then
		in_net "$FAR" setpriv --pdeathsig KILL node "$EGRESS_DIR/h2-server.js" "$NET/cert.pem" "$NET/key.pem" \
			"$NET/far/h2" >>"$NET/log" 2>&1 {LIVE_FD}>&- &
		NET_PIDS+=("$!")
		wait_for 20 test -e "$NET/far/h2"
	fi
	: >"$NET/far/h2"
	printf 'allow: [{host: good.test, port: 445, protocol: https, inject: {secret: H2_KEY, header: Authorization}}]\n' \
		>"$W/h2.yaml"
	printf 'sk-live/0123456789+abc' >"$W/value"
	own "$W"
	pinfold secret set H2_KEY --file "$W/value"
	rm "$W/value"
	inside --policy "$W/h2.yaml" -- sh -c "$get $at/a $at/b; $get --http1.1 $at/c; $get -d xyz $at/d
		head -c 2000000 /dev/zero | $get -T - -X POST $at/e; $get $at/big/20000000 | wc -c
		$get -o /dev/null -w '%{http_code} ' -I $at/f; $get -w '%{http_code} ' $at/none; $get $at/hints"
	prints "2.0 GET good.test:445 /a 0
2.0 GET good.test:445 /b 0
1.1 GET good.test:445 /c 0
2.0 POST good.test:445 /d 3
2.0 POST good.test:445 /e 2000000
20000000
200 204 hints" "HTTP/2 on both sides, where the client asks for it"
	inside --policy "$W/h2.yaml" -- sh -c "$get $at/echo; for p in reset half lies; do
		$get -o /dev/null -w ' %{http_code}:%{exitcode}' $at/\$p; done; $get $at/bye $at/bye"
	check "answers that are not whole are none" grep -q ' 502:0 200:92 200:92byebye$' "$OUT"
	check "its secret has gone out" test "$(grep -vc ' sk-live/0123456789+abc$' "$NET/far/h2")" = 0
	check "and does not come back" grep -q '"authorization":"\*\*\*' "$OUT"
}

checks()
{
	network || return
	policy
	needs curl "HTTP/2 by curl" && clients
	needs node "HTTP/2 by node" && {
		judged
		held
		hostile
		servers
	}
	untouched "HTTP/2"
}

run_egress
