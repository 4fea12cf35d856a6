#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Rules that say ask: the connection, or the request, waits for a person's word, and nothing reaches
# the server before.
# red: gate-asked
. "$(dirname "$0")/../lib/egress.sh"

policy()
{
	cat >"$W/policy.yaml" <<-EOT
		allow:
		  - host: good.test
		    port: 80
		    protocol: http
		    methods: [GET]
		ask:
		  - host: four.test
		    port: 443
		  - host: good.test
		    port: 80
		    protocol: http
		    methods: [POST]
		  - host: good.test
		    port: 8080
		    protocol: http
		    methods: [POST]
	EOT
	own "$W"
}

# asked NAME: the id of its question, in ASKED.
asked()
{
	local err=${1}_ERR

	wait_for 20 grep -q '^pinfold: waits for approval: ' "${!err}"
	ASKED=$(grep -o 'pinfold approve apr[a-z2-7]*' "${!err}" | awk '{ print $3 }' | tail -n1)
}

connection()
{
	local get=("${BARE[@]}" curl -sk --max-time 40 https://four.test/)

	forget
	inside_start HELD --json --policy "$W/policy.yaml" --reason 'to look up "four"' -- sh -c "${get[*]}; ${get[*]}"
	asked HELD
	check "nothing has reached the server" test "$(seen tcp ' 443')" = 0
	pinfold approvals
	check "the question says what for" grep -q "^$ASKED .*network: connect four.test:443, for sandbox sbx" "$OUT"
	pinfold approvals --json
	json_is "$(printf 'uid %d to look up "four" (the policy says ask four.test:443 tls)' "$([ "$MODE" = R ] && echo 0 || echo "$USER_ID")")" \
		'd["items"][0]["who"] + " " + d["items"][0]["why"]' "for whom, what for, and by which rule"
	pinfold run --reason "$(printf %0201d 0)" -- true
	refuses invalid_argument --reason "what it is for, at too great length"
	pinfold approve --sandbox "$ASKED"
	exits 0 "a person says yes"
	inside_wait HELD
	exits 0 "it goes on"
	json_is 2 'd["stdout"]["text"].count("hello four.test")' "and once more without a question"
	json_is "[]" 'd["denials"]' "nothing was denied"
	json_is '["allowed", "pending"]' 'sorted(n["verdict"] for n in d["network"])' "the record has both"

	inside_start HELD --json --policy "$W/policy.yaml" -- sh -c "${get[*]}; ${get[*]}"
	asked HELD
	pinfold deny "$ASKED"
	inside_wait HELD
	# Some clients try IPv6 and IPv4 at once.
	json_is '[["approval", true]]' '[(x["kind"], x["count"] >= 2) for x in d["denials"]]' "a no is a denial, and is not asked for again"
	json_is "" 'd["stdout"]["text"]' "nothing came"
}

request()
{
	forget
	inside_start HELD --policy "$W/policy.yaml" -- "${BARE[@]}" /usr/bin/python3 -c '
import http.client
c = http.client.HTTPConnection("good.test", timeout=40)
def ask(method, path, body=None):
    c.request(method, path, body)
    r = c.getresponse()
    return r.status, r.read().decode()
print(ask("GET", "/"), ask("POST", "/", "abc"), ask("GET", "/"))'
	asked HELD
	check "the GET went through, the POST not" test "$(seen http .)" = 1
	pinfold approve "$ASKED"
	inside_wait HELD
	prints "(200, 'hello good.test ') (200, 'hello good.test abc') (200, 'hello good.test ')" "one connection, one question"
	inside_start HELD --policy "$W/policy.yaml" -- curl -s --max-time 40 -d x http://good.test/
	asked HELD
	kill -TERM "$HELD_PID"
	inside_wait HELD
	pinfold approvals --json
	prints '{"items":[],"next":null}' "who was ended asks nothing any more"
}

four_asked()
{
	pinfold approvals --json
	[ "$(json 'len(d["items"])')" = 4 ]
}

# A yes counts for what was shown and for nothing that looks like it.
whole()
{
	local long=/$(printf 'p%.0s' {1..120}) body="-s -o /dev/null -w %{http_code}, -d x"

	forget
	inside_start HELD --json --policy "$W/policy.yaml" -- sh -c "
		curl $body 'http://good.test$long/read?x=1'; curl $body 'http://good.test$long/read?x=1'
		for at in $long/read?x=2 $long/read $long/delete-everything?x=1 :8080$long/read?x=1; do
			curl -m 50 $body \"http://good.test\$at\" & done; wait"
	asked HELD
	pinfold approvals --json
	json_is "POST http://good.test$long/read?x=1" 'd["items"][0]["what"]' "the question has all of the first line"
	pinfold approve --sandbox "$ASKED"
	wait_for 10 four_asked
	kill -TERM "$HELD_PID"
	inside_wait HELD
	json_is 200,200, 'd["stdout"]["text"]' "another query, path or port was not asked for"
	check "nor did it reach a server" test "$(seen http .)" = 2
	json_is '[["pending", 80, 4], ["pending", 8080, 1]]' 'sorted((n["verdict"], n["port"], n["count"]) for n in d["network"] if n["verdict"] == "pending")' "each of them would have to be asked for"
	pinfold approvals --json
	prints '{"items":[],"next":null}' "and who has gone asks nothing any more"
}

# One yes to one of two; who comes second is asked for himself.
once()
{
	local post="curl -s --max-time 40 -o /dev/null -w %{http_code}, -d x http://good.test/twice"

	inside_start HELD --policy "$W/policy.yaml" -- sh -c "$post & $post & wait"
	asked HELD
	local first=$ASKED
	wait_for 20 test "$(seen http twice)" = 0
	pinfold approve "$first"
	wait_for 20 grep -q twice "$NET/far/http"
	wait_for 20 another "$first"
	check "one of the two has been let through" test "$(seen http twice)" = 1
	pinfold deny "$ASKED"
	inside_wait HELD
	# Both are on their way at once: who says so first is chance.
	check "once is once" test "$(tr , '\n' <"$OUT" | sort | paste -sd " ")" = "200 403"
}

another()
{
	asked HELD
	[ "$ASKED" != "$1" ]
}

late()
{
	inside_start HELD --json --time 10s --policy "$W/policy.yaml" -- curl -s --max-time 40 -o /dev/null -w '%{http_code}' -d x http://good.test/
	asked HELD
	inside_wait HELD
	json_is '["exited", 0, "403"]' '[d["status"], d["exit_code"], d["stdout"]["text"]]' "no answer is a no, while the run lives"
	json_is '[["approval", true]]' '[(x["kind"], "nobody answered in time" in x["hint"]) for x in d["denials"]]' "and a denial that says so"
	pinfold approve "$ASKED"
	exits 125 "an answer that comes later counts for nothing"
}

# Answers are kept of so many questions, not the first of them for ever.
many()
{
	inside_start HELD --json --policy "$W/policy.yaml" -- /usr/bin/python3 -c '
import http.client
said = []
for i in range(70):
    c = http.client.HTTPConnection("good.test", timeout=40)
    c.request("POST", "/many/%d" % i, "x")
    said.append(c.getresponse().status)
print(set(said))'
	/usr/bin/python3 - "$M/home/approvals" "$HELD_PID" <<-'EOT'
		import glob, os, socket, struct, sys
		yes = struct.pack("=IIQ", 0x61707231, 2, 0)  # engine/approval.c
		s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		while os.path.exists("/proc/" + sys.argv[2]):
		    for at in glob.glob(sys.argv[1] + "/*.sock"):
		        try:
		            s.sendto(yes, at)
		        except OSError:
		            pass
	EOT
	inside_wait HELD
	json_is "{200}" 'd["stdout"]["text"].strip()' "seventy questions, seventy answers"
}

checks()
{
	network || return
	policy
	connection
	request
	whole
	once
	late
	many
}

run_egress
