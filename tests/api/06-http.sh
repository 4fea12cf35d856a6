#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# HTTP itself: connections used and misused, slow and rude clients, many of them; what happens when
# the process that serves dies, and when the daemon is told to end.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/api.sh"
. "$(dirname "$0")/../lib/client.sh"

cpu_ticks()
{
	awk '{ print $14 + $15 }' "/proc/$API/stat"
}

# Without descriptors it waits, and does not spin.
no_descriptors()
{
	local ticks

	CALL_WRAP=(/usr/bin/prlimit --nofile=100)
	serve_start
	CALL_WRAP=()
	ticks=$(cpu_ticks)
	/usr/bin/python3 -I -c '
import select, socket, sys
held = []
for i in range(150):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.sendall(b"POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n")
    held.append(s)
select.select([], [], [], 2)' "$HTTP"
	check "no descriptor is left: it does not spin" test $(($(cpu_ticks) - ticks)) -lt 60
	check "and serves when there are some again" wait_for 5 api_answers
	serve_stop
}

# The process that speaks HTTP holds nothing that a sandbox needs.
killed()
{
	local id old=$API

	api POST /v1/sandboxes "{\"name\": \"stays\", \"ttl\": \"5m\"$LIMITS}"
	id=$(body 'd["id"]')
	api PUT "/v1/sandboxes/$id/files?path=f" kept
	kill -9 "$old"
	check "it is started again" wait_for 5 test_new_api "$old"
	check "and answers" wait_for 5 api_answers
	API=$(api_pid)
	api GET "/v1/sandboxes/$id/files?path=f"
	prints kept "the sandbox and its files are still there"
	api GET /v1/sandboxes/stays
	body_is "$id" 'd["id"]' "also by its name"
	api POST /v1/sandboxes/stays/exec '{"command": "echo on"}'
	body_is on 'd["stdout"]["text"].strip()' "it goes on"
	api DELETE /v1/sandboxes/stays
	answers 204 "and ends"
}

test_new_api()
{
	local now

	now=$(api_pid) && [ "$now" != "$1" ]
}

two_run()
{
	api GET /v1/runs
	[ "$(body 'sum(r["status"] == "running" for r in d["items"])')" = 2 ]
}

# SIGTERM: what runs may end, and its caller hears how.
drained()
{
	local began

	api_start A POST '/v1/runs?stream=1' "{\"command\": \"echo up; sleep 1; echo down\"$LIMITS}"
	api_start B POST /v1/runs "{\"command\": \"echo up; sleep 1; echo down\"$LIMITS}"
	api_start C GET '/v1/runs?limit=1'
	wait_for 10 grep -q '^event: stdout' "$A_OUT"
	wait_for 10 two_run
	began=${EPOCHREALTIME/[.,]/}
	serve_stop
	api_wait A
	check "a stream is followed to its result" test "$(events_of "$A_OUT" | grep -o 'result$')" = result
	api_wait B
	json_is $'up\ndown' 'out.decode().strip()' "a call is answered"
	check "it does not take longer than it must" test $((${EPOCHREALTIME/[.,]/} - began)) -lt 9800000
}

checks()
{
	needs curl setpriv "HTTP" || return
	serve_start
	token --tenant http
	API_ENV=("TOKEN=$SECRET")
	api_run 06-http.py 200
	if needs node "node's fetch"; then
		cp "$TEST_DIR/fetch.mjs" "$M/client/"
		chmod 0644 "$M/client/fetch.mjs"
		with_node
	fi
	killed
	drained
	no_descriptors
}

with_node()
{
	local line

	while IFS= read -r line; do
		case $line in
		"ok "*) ok "${line#ok } [$MODE]" ;;
		"not ok "*) not_ok "${line#not ok } [$MODE]" ;;
		*) diag "$line" ;;
		esac
	done < <(as_user env -i PATH=/usr/local/bin:/usr/bin:/bin HOME="$USER_HOME" API_PORT="$PORT" API_MODE="$MODE" \
		TOKEN="$SECRET" timeout 60 node "$M/client/fetch.mjs" 2>&1)
}

run_checks
