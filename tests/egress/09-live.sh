#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a sandbox may reach is changed while it runs: for what is asked for later and for connections
# that are open. A detached one has its way out, and a person who is asked.
. "$(dirname "$0")/../lib/egress.sh"
. "$LIB_DIR/daemon.sh"
. "$LIB_DIR/api.sh"
. "$LIB_DIR/client.sh"

# A connection that stays open, a word on standard output for each thing that happens to it.
HOLD='import socket, sys
s = socket.create_connection((sys.argv[1], 7777), 20)
s.sendall(b"hello\n")
s.settimeout(30)
try: # the gate calls it allowed before the server has answered
    print("open", s.recv(100), flush=True)
    print("closed", s.recv(100), flush=True)
except OSError as e:
    print("closed", e.errno, flush=True)'

# ID is the sandbox's, of one that is not in a daemon, too.
running()
{
	ID=$(basename "$M"/home/gates/sbx*.sock .sock)
	[ "$ID" != "sbx*" ]
}

foreground()
{
	inside_start HELD --json --allow good.test:7777 --allow four.test -- "${BARE[@]}" /usr/bin/python3 -c "$HOLD" good.test
	wait_for 20 running
	wait_for 20 shows_open
	pinfold allow "$ID" --show
	exits 0 "what it may reach is shown"
	check "rule by rule" grep -q '^allow good.test:7777 tcp  (--allow)' "$OUT"
	pinfold allow "$ID" --allow six.test
	exits 0 "a host is added"
	check "and nothing is closed for it" test ! -s "$ERR"
	printf 'allow: [four.test]\n' >"$W/narrow.yaml"
	own "$W"
	pinfold allow "$ID" --policy "$W/narrow.yaml"
	check "another policy closes what it does not allow" grep -q '1 connection was closed' "$ERR"
	inside_wait HELD
	json_has '"closed 104" in d["stdout"]["text"]' "the program sees it at once"
	json_is '["connect good.test:7777"]' '[x["what"] for x in d["denials"]]' "and it is on record"
	pinfold allow "$ID" --show
	refuses conflict "$ID" "of one that has ended"
	check "nothing is left of it" test -z "$(ls "$M/home/gates")"
}

# The name is still allowed, the address that it leads to is not any more.
address()
{
	inside_start HELD --json --allow good.test:7777 -- "${BARE[@]}" /usr/bin/python3 -c "$HOLD" good.test
	wait_for 20 running
	wait_for 20 shows_open
	printf 'allow: ["good.test:7777"]\ndeny: [198.51.100.3]\n' >"$W/deny.yaml"
	own "$W"
	pinfold allow "$ID" --policy "$W/deny.yaml"
	check "a policy that denies another address closes nothing" test ! -s "$ERR"
	printf 'allow: ["good.test:7777"]\ndeny: [198.51.100.2, "2001:db8:e2::2"]\n' >"$W/deny.yaml"
	pinfold allow "$ID" --policy "$W/deny.yaml"
	check "one that denies its server's closes a connection by name" grep -q '1 connection was closed' "$ERR"
	inside_wait HELD
	json_has '"closed 104" in d["stdout"]["text"] and "which a rule denies" in d["denials"][0]["what"]' "and that is on record"
}

shows_open()
{
	pinfold allow "$ID" --json
	grep -q '"verdict": *"allowed"' "$OUT"
}

# detach NAME [OPTION...]: the harness waits for who holds its way out; sets ID.
detach()
{
	local name=$1

	shift
	call_files run --detach "$@"
	call_argv -g 60000
	"${CALL[@]}" run --detach "$@" >"$OUT" 2>"$ERR" {LIVE_FD}>&- &
	BACKGROUND+=("$!")
	printf -v "${name}_CALL" %s "$!"
	printf -v "${name}_OUT" %s "$OUT"
	printf -v "${name}_ERR" %s "$ERR"
	wait_for 20 test -s "$OUT"
	ID=$(cat "$OUT")
}

detached()
{
	local id before get="${BARE[*]} curl -s -m 20"

	before=$(gates)

	detach HELD "${BEST[@]}" --allow good.test
	id=$ID
	pinfold exec "$id" -- sh -c "$get http://good.test/; $get http://six.test/ || echo no"
	prints "hello good.test no" "it reaches its host and no other"
	pinfold allow "$id" --allow six.test
	pinfold exec "$id" -- sh -c "$get http://good.test/; $get http://six.test/ || echo no"
	prints "hello good.test hello six.test " "one more is allowed"
	check "and a command in it is told of no denial" test "$(grep -c denied "$ERR")" = 0
	printf 'allow: []\nask: [four.test]\n' >"$W/ask.yaml"
	own "$W"
	pinfold allow "$id" --policy "$W/ask.yaml"
	pinfold exec "$id" -- sh -c "$get http://good.test/ || echo no"
	prints "no" "and all is taken away"
	pinfold allow "$id" --allow db.test:5432
	check "a new port is reached by the proxy alone, which is said" grep -q 'port 5432: .*proxy' "$ERR"
	printf 'allow: [{host: good.test, methods: [GET]}]\n' >"$W/looks.yaml"
	own "$W"
	pinfold allow "$id" --policy "$W/looks.yaml"
	refuses conflict https "what it was not made for"
	pinfold exec --allow good.test "$id" -- true
	refuses invalid_argument --allow "a command's own"
	asked_detached "$id"
	pinfold kill "$id"
	inside_wait HELD
	exits 0 "who holds its way out ends with it"
	check "and so does its gate" wait_for 10 no_gate "$before"
	pinfold audit --json
	check "what was decided for it is on record, whoever's command it was" grep -q \
		"\"host\":\"six.test\".*\"kind\":\"sandbox.network\".*\"sandbox\":\"$id\"" "$OUT"
}

no_gate()
{
	[ "$(gates)" = "$1" ]
}

asked_detached()
{
	local question

	pinfold allow "$1" --policy "$W/ask.yaml"
	pinfold exec --detach "$1" -- sh -c "${BARE[*]} curl -s -m 30 http://four.test/"
	wait_for 20 question_open
	question=$(awk '/^apr.*four.test/ { print $1 }' "$OUT")
	pinfold approve "$question"
	exits 0 "a detached sandbox's question is answered"
	wait_for 20 grep -q four.test "$NET/far/http"
	check "and it goes on" grep -q four.test "$NET/far/http"
}

question_open()
{
	pinfold approvals
	grep -q '^apr.*four.test' "$OUT"
}

by_http()
{
	local id

	api POST /v1/sandboxes "{\"allow\": [\"good.test\"]$LIMITS}"
	id=$(/usr/bin/python3 -I -c 'import json, sys; print(json.load(sys.stdin)["id"])' <"$OUT")
	api PUT "/v1/sandboxes/$id/policy" '{"allow": ["six.test"]}'
	check "by HTTP: it is changed" test "$RC" = 200
	check "and shown" grep -q 'allow six.test:80,443' "$OUT"
	api POST "/v1/sandboxes/$id/exec" '{"command": "curl -s http://good.test/; curl -s http://six.test/"}'
	check "by HTTP: what was allowed is not any more" test "$(grep -c 'hello good' "$OUT")" = 0
	check "and what was not is" grep -q 'hello six.test' "$OUT"
	api GET "/v1/sandboxes/$id/policy"
	check "by HTTP: what was decided is told" grep -q '"verdict": *"denied"' "$OUT"
	api PUT "/v1/sandboxes/$id/policy" '{}'
	check "by HTTP: nothing is no policy" test "$RC" = 400
	api PUT "/v1/sandboxes/$id/policy" '{"allow": ["*"]}'
	check "by HTTP: a bad one changes nothing" test "$RC" = 400
	api DELETE "/v1/sandboxes/$id"
}

checks()
{
	network || return
	forget
	BEST=()
	[ "$MODE" = R ] || BEST=(--limits best-effort)
	foreground
	address
	serve_start
	detached
	by_http
	untouched "all of it"
	serve_stop
	check "every gate has ended" test -z "$(gates)"
}

run_egress
