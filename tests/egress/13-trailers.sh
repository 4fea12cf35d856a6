#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: gate-trailer
#
# What comes behind bodies, without which there is no gRPC: it is passed on, if it is nothing that frames, routes or
# names somebody, and what holds for heads holds for it.
. "$(dirname "$0")/../lib/egress.sh"

server()
{
	in_net "$FAR" setpriv --pdeathsig KILL node "$EGRESS_DIR/trailers.js" serve "$NET/cert.pem" "$NET/key.pem" \
		"$NET/far/behind" >>"$NET/log" 2>&1 {LIVE_FD}>&- &
	NET_PIDS+=("$!")
	wait_for 20 test -e "$NET/far/behind"
}

# says KIND [OPTION...]: what trailers.js prints inside.
says()
{
	inside --policy "$W/policy.yaml" "${@:2}" -- "${BARE[@]}" node -e "$(cat "$EGRESS_DIR/trailers.js")" x "$1"
}

policy()
{
	cat >"$W/policy.yaml" <<-EOT
		allow:
		  - {host: good.test, port: 446, protocol: https$1}
		  - {host: good.test, port: 447, protocol: https}
	EOT
	own "$W"
}

calls()
{
	local fine='elapsed=7 grpc-message=fine grpc-status=0 trace-bin=AAEC x-echo=undefined'

	policy
	: >"$NET/far/behind"
	says calls
	prints "unary: 200 \"abc\" $fine
only: 200/12 \"\"
both: 200 \"<0><1><2><3>\" grpc-status=0
no te: 200 \"abc\"
behind: 200 \"abc\" $fine
many: ERR_HTTP2_STREAM_ERROR
after: 200 \"abc\" $fine" "calls of gRPC"
	check "a server is told that trailers are read" test "$(grep -c ' te=trailers ' "$NET/far/behind")" = 5
	check "behind a request goes what says nothing else" \
		grep -qxF '/svc/Unary te=trailers {"digest":"d","grpc-t":"1"}' "$NET/far/behind"
	check "and no method, path or credential" test "$(grep -ci 'override\|authorization\|secret' "$NET/far/behind")" = 0
	policy ', headers: 250'
	: >"$NET/far/behind"
	says long
	prints "short: 200 \"abc\" $fine
long: 502 \"pinfold: the server's answer did not come
\"" "they count towards what a head may be long"
	check "and the server has not all of it" test "$(grep -c . "$NET/far/behind")" = 1
}

plain()
{
	policy
	: >"$NET/far/behind"
	says plain
	prints 'trailers: 200 abc {"x-sum":"3"}
gzip: 200 abc {}' "HTTP/1.1: who asks for them has them"
	check "the server has what may pass" test "$(grep -cxF '1.1 /plain te=undefined {"digest":"d"}' "$NET/far/behind")" = 2
}

secrets()
{
	printf 'sk-live/0123456789+abc' >"$W/value"
	own "$W"
	pinfold secret set T_KEY --file "$W/value"
	rm "$W/value"
	policy ', inject: {secret: T_KEY, header: Authorization}'
	: >"$NET/far/behind"
	says secrets
	check "a value that comes back behind a body is taken out" \
		grep -q '^echo: 200 "abc" .*x-echo=\**$' "$OUT"
	check "messages come as they are" grep -qx 'packed: 200 "packed" grpc-status=0' "$OUT"
	check "packed ones not at all" grep -q '^forced: 502 ' "$OUT"
	cat >"$W/policy.yaml" <<-EOT
		allow:
		  - {host: good.test, port: 446, protocol: https}
		  - {host: six.test, port: 446, protocol: https, inject: {secret: T_KEY, header: Authorization}}
	EOT
	own "$W"
	inside_json --policy "$W/policy.yaml" -- "${BARE[@]}" node -e "$(cat "$EGRESS_DIR/trailers.js")" x stray
	json_has 'any("trailer to good.test:446" in x["what"] for x in d["denials"])' "a placeholder behind a body is an alarm"
	check "and goes nowhere" test "$(grep -c pfs_ "$NET/far/behind")" = 0
}

# What is recorded has them, too.
recorded()
{
	local said

	policy
	inside_json --record --policy "$W/policy.yaml" -- "${BARE[@]}" node -e "$(cat "$EGRESS_DIR/trailers.js")" x plain
	said=$(json 'd["stdout"]["text"]')
	inside_json --answers "$(json 'd["recording"]["sha256"]')" --policy "$W/policy.yaml" -- "${BARE[@]}" \
		node -e "$(cat "$EGRESS_DIR/trailers.js")" x plain
	check "a replay gives them again" test "$(json 'd["stdout"]["text"]')" = "$said" -a -n "$said"
}

checks()
{
	needs node "trailers by node" || return
	network || return
	[ -e "$NET/far/behind" ] || server
	calls
	plain
	secrets
	recorded
	untouched "trailers"
}

run_egress
